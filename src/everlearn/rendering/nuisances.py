"""Images with nuisances: layers painted over one another, then lit, blurred and disturbed."""

import math
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.rendering.paths import Paths, flatten
from everlearn.rendering.rasterizer import DRAWN_SIZE, Placements, paint_gray, paint_planes
from everlearn.shapes import Outlines, ShapeFamily
from everlearn.shapes.jit import compiled
from everlearn.shapes.philox import Word, words

LARGEST_BLUR = 16.0
MOST_CLUTTER = 32
LARGEST_OCCLUDER = 0.5


@dataclass(frozen=True)
class Nuisances:
    """Disturbances of an image, each off at 0; every image gets its own, drawn from (seed, row).

    They come in the order in which a camera would meet them: texture and clutter lie behind the shape, the
    occluder in front, light falls on all of it, the lens blurs it and the sensor adds noise.

    Args:
        noise: standard deviation of independent noise per pixel and channel, as a share of the range, 0..1.
        blur: standard deviation of a Gaussian blur in pixels, 0..16.
        occluder: area of a bar of some gray, centred anywhere in the middle half of the image, as a
            share of the image's area, 0..0.5.
        clutter: number of small gray shapes scattered behind, 0..32.
        lighting: how much darker the image is at its far side than at its lit one, 0..1.
        texture: how far a smooth random pattern moves the background up or down, as a share of the range,
            0..1.

    Example:
        >>> Nuisances(noise=0.1).are_none, Nuisances().are_none
        (False, True)
    """

    noise: float = 0.0
    blur: float = 0.0
    occluder: float = 0.0
    clutter: int = 0
    lighting: float = 0.0
    texture: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "lighting", "texture"):
            check_range(name, getattr(self, name), 0, 1)
        check_range("blur", self.blur, 0, LARGEST_BLUR)
        check_range("occluder", self.occluder, 0, LARGEST_OCCLUDER)
        if isinstance(self.clutter, bool) or not isinstance(self.clutter, int | np.integer):
            raise BadInput(f"clutter is {self.clutter!r}; it must be a whole number of shapes")
        check_range("clutter", self.clutter, 0, MOST_CLUTTER)

    @property
    def are_none(self) -> bool:
        """Whether nothing is disturbed at all."""
        return not any(astuple(self))


Float32Array = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_GRID = 2.0**20
_REACH = 3.0


def light(canvas: Float32Array, angles: FloatArray, strength: float) -> None:
    """Darken each image (n, channels, H, W) evenly from one side to the other, by `strength` at most."""
    size = canvas.shape[-1]
    across = ((np.arange(size) + 0.5) / size * 2 - 1)[None]  # -1..1
    cos, sin = (_coarse(f(angles))[:, None] for f in (np.cos, np.sin))
    reach = np.abs(cos) + np.abs(sin)
    slope = (across * (cos / reach))[:, None, :] + (across * (sin / reach))[:, :, None]  # (n, H, W)
    canvas *= (1 - strength * (0.5 + 0.5 * slope)).astype(np.float32)[:, None]


def blur(canvas: Float32Array, radius: float) -> Float32Array:
    """Images (n, channels, H, W) blurred by a Gaussian; beyond its border an image goes on as it ends."""
    weights = gaussian(radius)
    for axis in (2, 3):
        reach = len(weights) // 2
        padding = [(0, 0)] * 4
        padding[axis] = (reach, reach)
        wide = np.pad(canvas, padding, mode="edge")
        canvas = np.zeros_like(canvas)
        for start, weight in enumerate(weights):
            shifted = np.s_[start : start + canvas.shape[axis]]
            canvas += weight * (wide[:, :, shifted] if axis == 2 else wide[:, :, :, shifted])
    return canvas


def gaussian(radius: float) -> list[np.float32]:
    """Weights of a Gaussian of this standard deviation, which add up to 1.

    Example:
        >>> [round(float(weight), 3) for weight in gaussian(0.5)]
        [0.0, 0.106, 0.787, 0.106, 0.0]
    """
    reach = math.ceil(_REACH * radius)
    raw = [math.floor(math.exp(-0.5 * (i / radius) ** 2) * _GRID + 0.5) for i in range(-reach, reach + 1)]
    return [np.float32(weight / sum(raw)) for weight in raw]


def pattern(lattice: FloatArray, size: int) -> Float32Array:
    """A smooth pattern (n, size, size) between -1 and 1 through random lattice values (n, k, k) in 0..1."""
    position = (np.arange(size) + 0.5) / size * (lattice.shape[1] - 1)
    cell = position.astype(np.int64)
    part = position - cell
    ease = part * part * (3 - 2 * part)
    rows = lattice[:, cell] * (1 - ease)[:, None] + lattice[:, cell + 1] * ease[:, None]
    values = rows[:, :, cell] * (1 - ease) + rows[:, :, cell + 1] * ease
    return np.asarray(2 * values - 1, dtype=np.float32)


def _coarse(values: FloatArray) -> FloatArray:
    return np.asarray(np.rint(values * _GRID) / _GRID, dtype=np.float64)


# Far from the turns that shapes use, so that a family and its images may have the same seed.
# Each distractor of the clutter has a turn of its own, from CLUTTER on.
TEXTURE, OCCLUDER, LIGHTING, NOISE, CLUTTER = range(1 << 20, (1 << 20) + 5)

_QUANTILE_BITS = 12
_NOISE_GRID = 2.0**20


@lru_cache(maxsize=1)
def normal_quantiles() -> Float32Array:
    """4096 equally likely standard normal values, on a coarse grid so that all machines agree."""
    n = 1 << _QUANTILE_BITS
    exact = [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)]
    return (np.rint(np.array(exact) * _NOISE_GRID) / _NOISE_GRID).astype(np.float32)


@compiled
def uniforms(seed: Word, rows: IntArray, turn: int, n: int) -> FloatArray:
    """(len(rows), n) numbers in 0..1 that belong to each row."""
    values = np.empty((len(rows), n))
    for k in range(len(rows)):
        for j in range(n):
            first, _, _, _ = words(seed, Word(rows[k]), j, turn)
            values[k, j] = (float(first) + 0.5) * 2.0**-32
    return values


@compiled
def add_noise(
    seed: Word,
    rows: IntArray,
    turn: int,
    quantiles: Float32Array,
    strength: np.float32,
    images: Float32Array,
) -> None:
    """Add normal noise to images (len(rows), values); eight values share one block of random words."""
    low = Word(len(quantiles) - 1)
    for k in range(len(rows)):
        for block in range((images.shape[1] + 7) // 8):
            four = words(seed, Word(rows[k]), block, turn)
            for j in range(min(8, images.shape[1] - 8 * block)):
                bits = (four[j // 2] >> Word(16 * (j % 2))) & low
                images[k, 8 * block + j] += strength * quantiles[bits]


# Distractors are shapes from the far end of the family, where no stream will look for its classes.
FIRST_DISTRACTOR, N_DISTRACTORS = 2**63 - 256, 256
CLUTTER_SCALES = (0.1, 0.25)
BAR_RATIOS = (1.5, 4.0)
LATTICE = 7
OPAQUE = np.array([[[0.0, 1.0, 1.0]]], np.float32)


class Scene:
    """A batch of images about to be drawn with nuisances; a canvas is (n, channels, H, W) from 0 to 1."""

    def __init__(
        self,
        nuisances: Nuisances,
        seed: int,
        size: int,
        paths: Paths,
        where: Placements,
        levels: Float32Array,
    ) -> None:
        self._nuisances, self._seed, self._size = nuisances, seed, size
        self._paths, self._where, self._levels = paths, where, levels

    def draw(self, begin: int, end: int, rows: IntArray, channels_first: bool, out: npt.NDArray[Any]) -> None:
        """Draw images begin to end into their places in out."""
        ids, levels = rows[begin:end], self._levels[begin:end]
        canvas = self._background(ids, levels)
        self._scatter_clutter(canvas, ids)
        self._cover(canvas, self._paths, _rows(self._where, begin, end), levels)
        self._occlude(canvas, ids)
        if self._nuisances.lighting:
            angles = 2 * np.pi * self._uniforms(ids, LIGHTING, 1)[:, 0]
            light(canvas, angles, self._nuisances.lighting)
        if self._nuisances.blur:
            canvas = blur(canvas, self._nuisances.blur)
        self._add_noise(canvas, ids)
        _store(canvas, channels_first, out[begin:end])

    def _background(self, ids: IntArray, levels: Float32Array) -> Float32Array:
        shape = (*levels.shape[:2], self._size, self._size)
        canvas = np.broadcast_to(levels[:, :, 0, None, None], shape).copy()
        if self._nuisances.texture:
            lattice = self._uniforms(ids, TEXTURE, LATTICE * LATTICE).reshape(-1, LATTICE, LATTICE)
            waves = pattern(lattice, self._size)  # -1..1
            canvas += np.float32(self._nuisances.texture) * waves[:, None]
        return canvas

    def _scatter_clutter(self, canvas: Float32Array, ids: IntArray) -> None:
        for k in range(self._nuisances.clutter):
            which, scale, angle, x, y, level = self._uniforms(ids, CLUTTER + k, 6).T
            low, high = CLUTTER_SCALES
            where = Placements(
                (which * N_DISTRACTORS).astype(np.int64), low + (high - low) * scale, 2 * np.pi * angle,
                2 * x - 0.5, 2 * y - 0.5,
            )  # fmt: skip
            self._cover(canvas, self._distractors, where, _plain_levels(level, canvas.shape[1]))

    @cached_property
    def _distractors(self) -> Paths:
        outlines = ShapeFamily(seed=self._seed).outlines(FIRST_DISTRACTOR + np.arange(N_DISTRACTORS))
        return _flatten(outlines, DRAWN_SIZE * self._size)

    def _occlude(self, canvas: Float32Array, ids: IntArray) -> None:
        if not self._nuisances.occluder:
            return
        ratio, angle, x, y, level = self._uniforms(ids, OCCLUDER, 5).T
        bars = _flatten(_bars(BAR_RATIOS[0] + (BAR_RATIOS[1] - BAR_RATIOS[0]) * ratio), float(self._size))
        scale = np.full(len(ids), np.sqrt(self._nuisances.occluder) / DRAWN_SIZE)
        where = Placements(np.arange(len(ids)), scale, 2 * np.pi * angle, x.copy(), y.copy())
        self._cover(canvas, bars, where, _plain_levels(level, canvas.shape[1]))

    def _cover(self, canvas: Float32Array, paths: Paths, where: Placements, levels: Float32Array) -> None:
        """Paint one shape over each image, exactly as much as it covers each pixel."""
        n, channels, size, _ = canvas.shape
        colours, cover = np.empty_like(canvas), np.empty((n, 1, size, size), np.float32)
        on_black = levels * OPAQUE
        paint = paint_gray if channels == 1 else paint_planes
        paint(0, n, paths, where, size, on_black, colours.reshape(-1))
        paint_gray(0, n, paths, where, size, np.repeat(OPAQUE, n, axis=0), cover.reshape(-1))
        canvas *= 1 - cover
        canvas += colours

    def _add_noise(self, canvas: Float32Array, ids: IntArray) -> None:
        if self._nuisances.noise:
            strength, values = np.float32(self._nuisances.noise), canvas.reshape(len(canvas), -1)
            add_noise(np.uint64(self._seed), ids, NOISE, normal_quantiles(), strength, values)

    def _uniforms(self, ids: IntArray, turn: int, n: int) -> FloatArray:
        return uniforms(np.uint64(self._seed), ids, turn, n)


def _rows(where: Placements, begin: int, end: int) -> Placements:
    path, scale, angle, x, y = where
    return Placements(path[begin:end], scale[begin:end], angle[begin:end], x[begin:end], y[begin:end])


def _flatten(outlines: Outlines, unit_px: float) -> Paths:
    return flatten(outlines.cubics, outlines.n_vertices, np.full(len(outlines), unit_px))


def _bars(ratios: FloatArray) -> Outlines:
    """Rectangles of area 1, so many times longer than wide."""
    half_length = 0.5 * np.sqrt(ratios)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float64)
    vertices = corners * np.stack([half_length, 0.25 / half_length], axis=1)[:, None]  # (n, 4, 2)
    cubics = np.zeros((*vertices.shape, 4))
    cubics[..., 0], cubics[..., 1] = vertices, np.roll(vertices, -1, axis=1) - vertices
    return Outlines(cubics, np.full(len(ratios), 4))


def _plain_levels(level: FloatArray, channels: int) -> Float32Array:
    """Levels (n, channels, 3) of an unmarked gray shape."""
    return np.broadcast_to(level[:, None, None], (len(level), channels, 3)).astype(np.float32)


def _store(canvas: Float32Array, channels_first: bool, out: npt.NDArray[Any]) -> None:
    np.clip(canvas, 0, 1, out=canvas)
    if out.dtype == np.uint8:
        canvas = np.floor(canvas * np.float32(255) + np.float32(0.5))
    images = canvas if channels_first and canvas.shape[1] == 3 else np.moveaxis(canvas, 1, -1)
    out[...] = images.reshape(out.shape)
