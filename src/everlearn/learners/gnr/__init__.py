"""Generative negative replay: the learner, and the sources of replayed latent activations."""
