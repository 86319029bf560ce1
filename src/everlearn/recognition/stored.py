"""What is stored of an image that is taught: its object, and sometimes the whole image."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from everlearn.errors import BadInput
from everlearn.recognition.views import limited
from everlearn.streams.images.canonical import ImageLike, cut_out, read_image, whole
from everlearn.streams.images.decode import Pixels

SIZE = 128
"""Pixels per side of a stored exemplar."""
WHOLE_AREA, WHOLE_MASK = 0.8, 0.5
"""An object whose box, or whose own pixels, fill less of its image is also stored with the whole image."""
OPAQUE = 127


def as_list(images: Sequence[ImageLike] | ImageLike) -> list[ImageLike]:
    """Images, or one image, as a list."""
    if isinstance(images, str | Path | Image.Image) or (
        isinstance(images, np.ndarray) and images.ndim < 4 and images.dtype == np.uint8
    ):
        return [images]
    return list(images)


def read_shown(image: ImageLike) -> Pixels:
    """An image (H, W, 4) that shows something, not larger than needed."""
    rgba = limited(read_image(image))
    if not (rgba[..., 3] > OPAQUE).any():
        raise BadInput("the image is empty; give one that shows something")
    return rgba


def stored_forms(rgba: Pixels) -> Pixels:
    """The exemplars (n, SIZE, SIZE, 4) of an image (H, W, 4): one, or two.

    An object in front of a plain background is stored cut out and, if it is small or full of gaps, also with
    the whole image: which of both will be seen again cannot be known.

    Example:
        >>> image = np.full((64, 64, 4), 255, np.uint8)
        >>> image[20:40, 10:50, :3] = 90
        >>> stored_forms(image).shape
        (2, 128, 128, 4)
    """
    found = [cut_out(rgba)]
    alpha, n_pixels = found[0].pixels[..., 3], rgba.shape[0] * rgba.shape[1]
    is_small = alpha.size < WHOLE_AREA * n_pixels or (alpha > OPAQUE).sum() < WHOLE_MASK * n_pixels
    if found[0].background == "plain" and is_small:
        found.append(whole(rgba))
    pixels = np.stack([each.canonical(SIZE) for each in found])
    if not (pixels[..., 3] > OPAQUE).any(axis=(1, 2)).all():
        raise BadInput("the object is too thin to be stored; give an image that shows more of it")
    return pixels
