"""Exemplars of an image, and checks of images before they are stored."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.canonical import ImageLike, cut_out, limited, read_image, whole
from everlearn.streams.images.decode import Pixels

SIZE = 128
"""Pixels per side of a stored exemplar."""
MIN_TAUGHT = 8
"""Pixels of the longer side of an image that is taught; a smaller image shows nothing recognisable."""
WHOLE_AREA, WHOLE_MASK = 0.8, 0.5
"""An object whose box or whose mask fills less of its image is also stored with the whole image."""


def as_list(images: Sequence[ImageLike] | ImageLike) -> list[ImageLike]:
    """Images, or one image, as a list."""
    if isinstance(images, str | Path | Image.Image) or (
        isinstance(images, np.ndarray) and images.ndim < 4 and images.dtype == np.uint8
    ):
        return [images]
    return list(images)


def read_object(image: ImageLike) -> Pixels:
    """An image (H, W, 4) that is not empty, reduced to the size that is used."""
    rgba = limited(read_image(image))
    if not (rgba[..., 3] > 127).any():
        raise BadInput("the image is empty; give one that shows something")
    return rgba


def exemplars_of(image: ImageLike) -> Pixels:
    """The exemplars (n, SIZE, SIZE, 4) of an image.

    An object in front of a plain background is cut out. If it is small or full of gaps, the whole image is
    stored as well, since either may be seen again.

    Example:
        >>> image = np.full((40, 40, 3), 255, np.uint8)
        >>> image[10:30, 10:30] = 90
        >>> exemplars_of(image).shape
        (2, 128, 128, 4)
    """
    rgba = read_object(image)
    if max(rgba.shape[:2]) < MIN_TAUGHT:
        size = f"{rgba.shape[1]} x {rgba.shape[0]}"
        raise BadInput(f"the image is {size} pixels; give one of at least {MIN_TAUGHT} pixels to be taught")
    found = [cut_out(rgba)]
    area, mask = found[0].pixels[..., 3].size, (found[0].pixels[..., 3] > 127).sum()
    n_pixels = rgba.shape[0] * rgba.shape[1]
    if found[0].background == "plain" and (area < WHOLE_AREA * n_pixels or mask < WHOLE_MASK * n_pixels):
        found.append(whole(rgba))
    pixels = np.stack([each.canonical(SIZE) for each in found])
    if not (pixels[..., 3] > 127).any(axis=(1, 2)).all():
        raise BadInput("the object is too thin to be stored; give an image that shows more of it")
    return pixels


def check_taught_once(named: Iterable[tuple[Pixels, str]]) -> None:
    """Raise if equal images, as `exemplars_of` gives them, have different names."""
    names: dict[bytes, str] = {}
    for pixels, name in named:
        if (other := names.setdefault(pixels[0].tobytes(), name)) != name:
            raise BadInput(f"the same image is given as {other!r} and as {name!r}; give it once")
