"""What all learners share: the promise they make, how they are found, and the common classifier."""
