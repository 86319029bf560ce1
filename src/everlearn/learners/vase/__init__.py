"""VASE and its baseline CCI-VAE."""
