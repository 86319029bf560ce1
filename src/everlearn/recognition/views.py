"""Views of an exemplar: rotated for comparison, and disturbed for calibration."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.recognition.features import GRID
from everlearn.rng import FloatArray, Rng
from everlearn.streams.images.decode import Pixels, premultiplied
from everlearn.streams.stream import Images

Masks = npt.NDArray[np.float32]
"""The share of each cell of a view, or of several, that belongs to the object."""

N_TURNS = 16
"""Views all around, 22.5 degrees apart."""
FILL = (128, 128, 128)
"""Background of views: the gray level that ImageNet preprocessing maps to zero."""
MARGIN = 0.08
"""Margin around the object, as a share of its longer side."""
CANVAS = 192
"""Pixels per side of disturbed images."""
TEXTURED, OCTAVES = 0.3, (3, 6, 12, 24, 48)
"""Share of disturbed images with a texture as background, and the cells per side of its grids."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Position of the object of a rotated view: in units of the exemplar's frame, which is 2 wide.

    Attributes:
        angle: by which the exemplar was rotated, counterclockwise.
        center: of the bounding box of the rotated object.
        half: half of the longer side of that box.
    """

    angle: float
    center: FloatArray
    half: float


def angles(*, upright: bool) -> list[float]:
    """The angles of the views of an exemplar."""
    return [0.0] if upright else [2 * math.pi * i / N_TURNS for i in range(N_TURNS)]


def whole_angles(*, upright: bool) -> list[float]:
    """The angles at which an exemplar is described as a whole image."""
    return [0.0] if upright else [math.pi * i / 2 for i in range(4)]


def geometry(exemplar: Pixels, angle: float) -> Geometry:
    """The bounding box of the exemplar (size, size, 4) after a rotation."""
    size, mask = len(exemplar), exemplar[..., 3] > 127
    rows = np.flatnonzero(mask.any(axis=1))
    # The first and the last pixel of each row are enough: the others are between them.
    ends = mask[rows].argmax(axis=1), size - 1 - mask[rows, ::-1].argmax(axis=1)
    pixels = np.stack([np.concatenate(ends), np.concatenate([rows, rows])], axis=1)
    points = (2 * pixels + 1) / size - 1
    c, s = math.cos(angle), math.sin(angle)
    turned = points @ np.array([[c, -s], [s, c]])
    low, high = turned.min(axis=0), turned.max(axis=0)
    return Geometry(angle, (low + high) / 2, max(float((high - low).max()) / 2, 1 / size))


def render(exemplar: Pixels, angle: float, size: int) -> tuple[Images, Masks]:
    """A view (size, size, 3) and its mask: the exemplar rotated, trimmed and on the plain background."""
    return _view(_trimmed(exemplar, angle, size))


def render_textured(exemplar: Pixels, size: int, rng: Rng) -> Images:
    """The view of an exemplar at angle 0, on a random texture."""
    background = 255 * rng.uniform(3) + texture(rng, size)
    return _on_background(_trimmed(exemplar, 0.0, size), background)


def render_whole(exemplar: Pixels, angle: float, size: int) -> Images:
    """The exemplar (size, size, 3) rotated, on white."""
    turned = Image.fromarray(premultiplied(exemplar)).rotate(
        math.degrees(angle), resample=Image.Resampling.BICUBIC
    )
    resized = turned.resize((size, size), Image.Resampling.BILINEAR)
    return _on_background(np.asarray(resized, np.float32), (255, 255, 255))


def center_crop(image: Images, share: float, size: int) -> Images:
    """The central square of an image, a share of its shorter side wide, resized to (size, size, 3)."""
    height, width = image.shape[:2]
    half = max(1.0, share * min(height, width)) / 2
    box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
    resized = Image.fromarray(image).resize(
        (size, size), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0
    )
    return np.asarray(resized)


def _trimmed(exemplar: Pixels, angle: float, size: int) -> FloatArray:
    """The exemplar rotated and trimmed (size, size, 4), premultiplied."""
    view, side = geometry(exemplar, angle), len(exemplar)
    turned = Image.fromarray(premultiplied(exemplar)).rotate(
        math.degrees(angle), resample=Image.Resampling.BICUBIC
    )
    center = (view.center + 1) * side / 2
    half = view.half * side / 2 * (1 + 2 * MARGIN)
    box = (center[0] - half, center[1] - half, center[0] + half, center[1] + half)
    moved = turned.transform((size, size), Image.Transform.EXTENT, box, resample=Image.Resampling.BICUBIC)
    return np.asarray(moved, np.float32)


def crop(
    image: Images,
    mask: Pixels | None,
    box: tuple[float, float, float, float],
    size: int,
    margin: float = MARGIN,
) -> tuple[Images, Masks]:
    """The square around a box of an image (H, W, 3), as a view; what is not in the mask is background."""
    left, top, right, bottom = box
    half = max(right - left, bottom - top) / 2 * (1 + 2 * margin)
    x, y = (left + right) / 2, (top + bottom) / 2
    alpha = np.full(image.shape[:2], 255, np.uint8) if mask is None else mask
    rgba = np.dstack([image, alpha])
    scale = 2 * half / size
    source = Image.fromarray(premultiplied(rgba))
    if scale > 2:  # the transform below takes single pixels, so average first
        reduce = int(scale)
        source = source.reduce(reduce)
        x, y, half = x / reduce, y / reduce, half / reduce
    extent = (x - half, y - half, x + half, y + half)
    moved = source.transform((size, size), Image.Transform.EXTENT, extent, resample=Image.Resampling.BILINEAR)
    return _view(np.asarray(moved, np.float32))


def _view(premultiplied: FloatArray) -> tuple[Images, Masks]:
    """Pixels (size, size, 4) on the plain background, and their mask (GRID, GRID)."""
    cell = len(premultiplied) // GRID
    mask = premultiplied[..., 3].reshape(GRID, cell, GRID, cell).mean(axis=(1, 3)) / 255
    return _on_background(premultiplied, FILL), mask.clip(0, 1).astype(np.float32)


def to_frame(transform: FloatArray, side: int) -> FloatArray:
    """The matrix (3, 3) with which Pillow brings an image into the frame (side, side) of an exemplar."""
    pixels = np.array([[2 / side, 0, -1], [0, 2 / side, -1], [0, 0, 1]])
    centers = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])  # Pillow's positions are those of corners
    matrix = centers @ transform @ pixels
    found: FloatArray = matrix / matrix[2, 2]
    return found


def unwarp(image: Images, transform: FloatArray, exemplar: Pixels, size: int) -> tuple[Images, Masks]:
    """An image as the view of an exemplar, and its mask: `transform` undone, masked like the exemplar.

    Args:
        image: (H, W, 3).
        transform: (3, 3) from the exemplar's frame, -1 to 1, to pixels of the image.
        exemplar: whose mask is used.
        size: of the view.
    """
    return render(np.dstack([warp(image, transform, len(exemplar)), exemplar[..., 3]]), 0.0, size)


def warp(image: Pixels, transform: FloatArray, side: int) -> Pixels:
    """An image (H, W[, 3]) in the frame of an exemplar (side, side)."""
    return perspective(image, to_frame(transform, side), (side, side))


def perspective(image: Pixels, matrix: FloatArray, size: tuple[int, int]) -> Pixels:
    """An image of another size (width, height) whose pixels a matrix (3, 3) maps to those of `image`."""
    coefficients = tuple((matrix / matrix[2, 2]).ravel()[:8])
    moved = Image.fromarray(image).transform(
        size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
    )
    return np.asarray(moved)


def disturb(exemplar: Pixels, rng: Rng, *, upright: bool) -> Images:
    """A random image (CANVAS, CANVAS, 3) of the exemplar, as a user might take it.

    Position, size, rotation (unless upright), light, pixel noise and background are random. The background
    is plain or textured; a part of the object may be covered.
    """
    u = rng.uniform(17)
    angle = (u[0] - 0.5) * (0.3 if upright else 2 * math.pi)
    side = CANVAS * (0.45 + 0.45 * u[1])
    turned = Image.fromarray(premultiplied(exemplar)).rotate(
        math.degrees(angle), resample=Image.Resampling.BICUBIC, expand=True
    )
    new = max(8, round(turned.width * side / len(exemplar)))
    turned = turned.resize((new, new), Image.Resampling.BICUBIC)
    layer = Image.new("RGBA", (CANVAS, CANVAS))
    free = max(0, CANVAS - new)
    layer.paste(turned, (round(free * u[2]), round(free * u[3])))
    background = 255 * np.array([u[4] * 0.3 + 0.7 * u[5], u[4] * 0.3 + 0.7 * u[6], u[7]])
    if u[8] < 0.5:  # many images have a gray or white background
        background = np.full(3, 255 * (0.3 + 0.7 * u[5]))
    if u[16] < TEXTURED:
        background = background + texture(rng, CANVAS)
    image = _on_background(np.asarray(layer, np.float32), background).astype(np.float32)
    if u[9] < 0.3:  # cover a quarter from one side
        start = round(free * u[2]) + round((0.15 if u[10] < 0.5 else 0.62) * new)
        image[:, start : start + round(0.23 * new)] = 255 * u[11]
    gain, offset = 0.6 + 0.6 * u[12], 40 * (u[13] - 0.5)
    y, x = np.meshgrid(np.linspace(-0.5, 0.5, CANVAS), np.linspace(-0.5, 0.5, CANVAS), indexing="ij")
    tilt = 1 + 0.5 * u[14] * (math.cos(angle) * x + math.sin(angle) * y)
    noise = rng.normal(image.size).reshape(image.shape) * (12 * u[15])
    lit = image * (gain * tilt)[..., None] + offset + noise
    return np.asarray(lit.clip(0, 255).round(), np.uint8)


def texture(rng: Rng, size: int) -> FloatArray:
    """Random colours (size, size, 3) around 0: a sum of grids of several resolutions."""
    image = np.zeros((size, size, 3))
    for cells, amplitude in zip(OCTAVES, rng.uniform(len(OCTAVES)), strict=True):
        gray, colours = rng.normal(cells * cells), rng.normal(3 * cells * cells)
        grid = gray.reshape(cells, cells, 1) + 0.5 * colours.reshape(cells, cells, 3)
        steps = (grid * 30 + 128).clip(0, 255).astype(np.uint8)
        large = Image.fromarray(steps).resize((size, size), Image.Resampling.BICUBIC)
        image += amplitude * (np.asarray(large, np.float64) - 128)
    return image


def _on_background(premultiplied: FloatArray, colour: tuple[int, ...] | FloatArray) -> Images:
    """Pixels (H, W, 4) on one colour, or on an image (H, W, 3)."""
    alpha = premultiplied[..., 3:] / 255
    mixed = premultiplied[..., :3] + (1 - alpha) * np.clip(np.asarray(colour), 0, 255)
    return np.asarray(mixed.clip(0, 255).round(), np.uint8)
