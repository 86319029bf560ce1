"""Factors and codes with various defects, whose metrics `make_disentanglement_values.py` computes."""

import numpy as np


def tables() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Factors, and codes with various defects."""
    rng = np.random.RandomState(0)
    factors = np.stack([rng.randint(n, size=1000) for n in (5, 8, 10)], axis=1).astype(float)
    z = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    noise = rng.normal(size=(1000, 3))
    return factors, {
        "perfect": z,
        "noisy": z + 0.5 * noise,
        "extra codes": np.hstack([z, noise]),
        "leaking": z + 0.4 * z[:, [1, 2, 0]],
        "rotated": z @ np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]),
        "random": noise,
    }
