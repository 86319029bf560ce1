"""A package that adds a learner, a stream and a protocol to everlearn."""
