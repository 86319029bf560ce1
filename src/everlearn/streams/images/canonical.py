"""The canonical form of an image: upright, cut out of its background, trimmed, centered, of one size.

Exemplars and the images that are compared with them all pass through `cut_out`, whether they come from files,
arrays, the studio or streams. The background is the transparent part of an image. Without transparency, it
is the part that a smooth surface fitted to the border explains. If no such surface fits, the whole image is
the object.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.background import MIN_AREA, Mask, PlainBackground
from everlearn.streams.images.compose import LUMINANCE
from everlearn.streams.images.decode import MAX_PIXELS, Pixels, decode, rgba_of
from everlearn.streams.stream import Images

Number = TypeVar("Number", bound=np.generic)
ImageLike = str | Path | Image.Image | npt.NDArray[np.uint8]
"""The path of a file, a PIL image, or an array (H, W), (H, W, 3) or (H, W, 4)."""

MAX_SIDE = 256
"""Larger images are reduced to this longer side before they are cut out."""
INNER = 0.875
"""Longer side of the object as a share of the canonical frame."""


@dataclass(frozen=True, eq=False)
class CutOut:
    """An object and where it was in its image.

    Attributes:
        pixels: (H, W, 4) the object in its bounding box; alpha is its mask.
        box: left, top, right and bottom of the bounding box in the image.
        background: how the mask was found: "transparent" pixels, a "plain" background, or "none" of both.
    """

    pixels: Pixels
    box: tuple[int, int, int, int]
    background: Literal["transparent", "plain", "none"]

    def canonical(self, size: int) -> Pixels:
        """(size, size, 4): the object centered, its longer side `INNER` of the frame."""
        return _pasted(np.zeros((size, size, 4), np.uint8), self.scaled(INNER * size))

    def scaled(self, side: float) -> Pixels:
        """(H, W, 4): the object with a longer side of `side` pixels."""
        height, width = self.pixels.shape[:2]
        factor = side / max(height, width)
        method = Image.Resampling.BOX if factor < 1 else Image.Resampling.BICUBIC
        new = max(1, round(width * factor)), max(1, round(height * factor))
        return np.array(Image.fromarray(self.pixels).resize(new, method))


def read_image(image: ImageLike, name: str = "the image") -> Pixels:
    """An image as RGBA (H, W, 4), upright; raises `BadInput` if it cannot be used.

    Example:
        >>> read_image(np.zeros((4, 6), np.uint8)).shape
        (4, 6, 4)
    """
    if isinstance(image, str | Path):
        return _read_file(Path(image))
    if isinstance(image, Image.Image):
        if image.width * image.height > MAX_PIXELS:
            raise BadInput(f"{name} is {image.size} pixels; at most {MAX_PIXELS} are allowed; shrink it")
        return rgba_of(image)
    array = np.asarray(image)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,), (4,)):
        raise BadInput(
            f"{name} is an array {array.shape} of {array.dtype}; give uint8 (H, W), (H, W, 3) or (H, W, 4)"
        )
    if not array.size or array.shape[0] * array.shape[1] > MAX_PIXELS:
        raise BadInput(f"{name} is {array.shape[:2]}; give 1 to {MAX_PIXELS} pixels")
    return rgba_of(Image.fromarray(array))


def _read_file(path: Path) -> Pixels:
    if "\0" in str(path) or not path.exists():
        raise BadInput(f"there is no image {str(path)!r:.200}; check the spelling")
    if path.is_dir():
        raise BadInput(f"{str(path)!r:.200} is a folder; give the images in it")
    return decode(path.read_bytes(), str(path))


def limited(rgba: Pixels, side: int = MAX_SIDE) -> Pixels:
    """An image of at most `side` pixels along its longer side."""
    height, width = rgba.shape[:2]
    factor = side / max(height, width)
    if factor >= 1:
        return rgba
    new = max(1, round(width * factor)), max(1, round(height * factor))
    return np.array(Image.fromarray(rgba).resize(new, Image.Resampling.BOX))


def cut_out(rgba: Pixels) -> CutOut:
    """Cut the object out of an image (H, W, 4).

    Example:
        >>> image = np.full((64, 64, 4), 255, np.uint8)
        >>> image[20:40, 10:50, :3] = 90
        >>> found = cut_out(image)
        >>> found.box, found.background
        ((10, 20, 50, 40), 'plain')
    """
    return cut_from(rgba, PlainBackground.find(rgba[..., :3]))


def cut_from(rgba: Pixels, background: PlainBackground | None) -> CutOut:
    """Cut the object out of an image (H, W, 4), given its plain background, if it has one."""
    if (rgba[..., 3] < 128).mean() > MIN_AREA and (opaque := rgba[..., 3] >= 128).any():
        return _cut(rgba, opaque, "transparent")
    mask = None if background is None else background.foreground()
    return whole(rgba) if mask is None else _cut(rgba, mask, "plain")


def whole(rgba: Pixels) -> CutOut:
    """The whole image as the object."""
    height, width = rgba.shape[:2]
    return CutOut(rgba, (0, 0, width, height), "none")


def drawn_like(found: CutOut, exemplars: Images) -> Images:
    """The object as an image (H, W[, 3]) with the size and the background of stored exemplars.

    Example:
        >>> exemplars = np.full((1, 32, 32), 169, np.uint8)
        >>> exemplars[0, 9:23, 9:23] = 255
        >>> drawn = drawn_like(whole(read_image(np.full((50, 50), 40, np.uint8))), exemplars)
        >>> int(drawn[0, 0]), int((drawn == 40).sum())
        (169, 196)
    """
    sample = exemplars[:: max(1, len(exemplars) // 32)]
    shape, background = sample.shape[1:], np.median(sample[:, 0, 0], axis=0)
    differences = np.abs(sample.astype(np.int64) - sample[:, :1, :1])
    differs = differences.reshape(*sample.shape[:3], -1).max(axis=3) > 8
    sides = [
        max(np.ptp(np.nonzero(each)[0]), np.ptp(np.nonzero(each)[1])) + 1 for each in differs if each.any()
    ]
    side = float(np.median(sides)) if sides else INNER * min(shape[:2])
    rgba = found.scaled(side).astype(np.float64)
    colours = rgba[..., :3] if len(shape) == 3 else rgba[..., :3] @ np.array(LUMINANCE)
    alpha = rgba[..., 3] / 255 if len(shape) == 2 else rgba[..., 3:] / 255
    blended = alpha * colours + (1 - alpha) * background
    image = np.empty(shape)
    image[:] = background
    return np.asarray(_pasted(image, blended).round(), np.uint8)


def _pasted(image: npt.NDArray[Number], part: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The image with a part pasted into its middle, cropped to the image."""
    height, width = image.shape[:2]
    top, left = (height - part.shape[0]) // 2, (width - part.shape[1]) // 2
    inside = part[max(0, -top) : max(0, -top) + height, max(0, -left) : max(0, -left) + width]
    top, left = max(0, top), max(0, left)
    image[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
    return image


def _cut(rgba: Pixels, mask: Mask, background: Literal["transparent", "plain"]) -> CutOut:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    pixels = rgba[top:bottom, left:right].copy()
    if background == "plain":
        pixels[..., 3] = np.where(mask[top:bottom, left:right], 255, 0)
    return CutOut(pixels, (left, top, right, bottom), background)
