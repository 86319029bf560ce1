"""The peer idsprites 1.0.1, used as documented."""

import warnings
from typing import Any

import numpy as np


def dataset(image_size: int, n_shapes: int) -> Any:
    """The dataset of the peer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from idsprites import InfiniteDSprites
    np.random.seed(0)  # noqa: NPY002 - the peer uses the global generator
    return InfiniteDSprites(img_size=image_size, shapes=n_shapes)


def poses(data: Any, n: int) -> list[Any]:
    """Random factors of the peer."""
    return [data.sample_factors() for _ in range(n)]
