"""Separation of several objects in front of a plain background."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled
from everlearn.streams.images.background import MIN_PART, Mask, PlainBackground
from everlearn.streams.images.decode import Pixels

MAX_ALONE, MIN_SIZE = 4, 16
"""Objects that are compared separately, largest first, and smallest pixels of one at the reduced size."""
WIDENED = 2
"""Pixels around an object that belong to it, since their colours are mixed."""


def parts_alone(image: Pixels, background: PlainBackground | None) -> list[Pixels]:
    """Images (H, W, 3), each with one object and the background in place of the others.

    Empty if there is no plain background, or one object only.

    Example:
        >>> image = np.full((64, 64, 3), 255, np.uint8)
        >>> image[8:24, 8:24] = image[40:60, 30:60] = 90
        >>> found = parts_alone(image, PlainBackground.find(image))
        >>> [int((each[..., 0] < 128).sum()) for each in found]
        [600, 256]
    """
    if background is None:
        return []
    differs = background.differs()
    labels = np.zeros(differs.shape, np.int64)
    n = _label(differs, labels, np.empty((differs.size, 2), np.int64))
    if n < 2:
        return []
    sizes = np.bincount(labels.ravel(), minlength=n + 1)[1:]
    order = np.argsort(-sizes, kind="stable")[:MAX_ALONE]
    kept = order[sizes[order] >= max(MIN_SIZE, MIN_PART * sizes.max())]
    surface = background.surface().round().astype(np.uint8)
    return [
        np.where(_alone(labels, number + 1, background.size)[..., None], image, surface)
        for number in kept.tolist()
    ]


def _alone(labels: IntArray, number: int, size: tuple[int, int]) -> Mask:
    """The mask (H, W) of one part with a margin."""
    padded = np.pad(labels == number, WIDENED)
    height, width = labels.shape
    steps = range(2 * WIDENED + 1)
    near = np.max([padded[i : i + height, j : j + width] for i in steps for j in steps], axis=0)
    mask = near & ((labels == 0) | (labels == number))
    large = Image.fromarray(mask.astype(np.uint8) * 255).resize(size[::-1], Image.Resampling.BILINEAR)
    return np.asarray(large) > 127


@compiled
def _label(found: Mask, labels: IntArray, stack: npt.NDArray[np.int64]) -> int:
    """Number the connected parts of a mask, from 1 on; returns how many there are."""
    H, W = found.shape
    n = 0
    for i in range(H):
        for j in range(W):
            if not found[i, j] or labels[i, j] > 0:
                continue
            n += 1
            top = 1
            stack[0, 0], stack[0, 1] = i, j
            labels[i, j] = n
            while top > 0:
                top -= 1
                r, c = stack[top, 0], stack[top, 1]
                for y in range(max(r - 1, 0), min(r + 2, H)):
                    for x in range(max(c - 1, 0), min(c + 2, W)):
                        if found[y, x] and labels[y, x] == 0:
                            labels[y, x] = n
                            stack[top, 0], stack[top, 1] = y, x
                            top += 1
    return n
