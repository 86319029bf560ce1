"""Bands and sheets of one colour that cover a part of an object and reach the border of the image."""

import numpy as np

from everlearn.streams.images.background import MIN_CONTRAST, Mask, PlainBackground, fill_holes, largest
from everlearn.streams.images.decode import Pixels

TOLERANCE = 5.0
"""Largest difference of an occluder from its own colour, in gray levels."""
MIN_SHARE = 0.6
"""Share of the border, without the background, that has the colour of the occluder."""
MIN_BORDER = 0.01
"""Smallest share of the border that an occluder covers."""
MIN_LEFT = 0.3
"""Share of the foreground that must be left; otherwise the occluder may be the object."""


def without_occluder(rgb: Pixels, background: PlainBackground | None) -> tuple[Pixels, Mask | None]:
    """The image with the background in place of an occluder, and where it was; None if there is none.

    Example:
        >>> image = np.full((64, 64, 3), 255, np.uint8)
        >>> image[16:48, 8:56] = np.arange(48, dtype=np.uint8)[:, None] * 3
        >>> image[:, 28:36] = 90
        >>> found, hidden = without_occluder(image, PlainBackground.find(image))
        >>> np.unique(found[:, 28:36]).tolist(), np.flatnonzero(hidden.any(axis=0)).tolist()
        ([255], [27, 28, 29, 30, 31, 32, 33, 34, 35, 36])
    """
    if background is None:
        return rgb, None
    surface = background.surface()
    is_other = largest(np.abs(rgb - surface)) > MIN_CONTRAST
    edge = np.ones(is_other.shape, bool)
    edge[1:-1, 1:-1] = False
    colours = rgb[edge & is_other].astype(np.float32)
    if len(colours) < MIN_BORDER * edge.sum():
        return rgb, None
    colour = np.median(colours, axis=0)
    if (largest(np.abs(colours - colour)) <= TOLERANCE).mean() < MIN_SHARE:
        return rgb, None
    occluder = _reaching_border((largest(np.abs(rgb - colour)) <= TOLERANCE) & is_other)
    if (is_other & ~occluder).sum() < MIN_LEFT * is_other.sum():
        return rgb, None
    hidden = _widened(occluder)
    return np.where(hidden[..., None], surface.round(), rgb).astype(np.uint8), hidden


def _reaching_border(same: Mask) -> Mask:
    mask = (~same).astype(np.uint8)
    fill_holes(mask, np.empty((mask.size, 2), np.int64))
    return mask == 0


def _widened(mask: Mask) -> Mask:
    """The mask with adjacent pixels, whose colours are mixed."""
    padded = np.pad(mask, 1)
    rows = padded[:-2] | padded[1:-1] | padded[2:]
    return np.asarray(rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:])
