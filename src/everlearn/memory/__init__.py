"""To be furnished."""
