"""Benchmarks of speed and accuracy; packages that are compared are measured in the same run."""
