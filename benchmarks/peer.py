"""The peer: idsprites 1.0.1, as its users call it."""

import warnings
from typing import Any

import numpy as np


def dataset(image_size: int, n_shapes: int) -> Any:
    """The peer's data set with that many shapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from idsprites import InfiniteDSprites
    np.random.seed(0)  # noqa: NPY002 - the peer knows no other randomness
    return InfiniteDSprites(img_size=image_size, shapes=n_shapes)


def poses(data: Any, n: int) -> list[Any]:
    """Random factors of the peer's own kind."""
    return [data.sample_factors() for _ in range(n)]
