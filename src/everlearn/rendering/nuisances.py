"""Nuisances: texture, clutter, occluders, lighting, blur and noise."""

import math
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range, is_integer
from everlearn.rendering.paths import Float32Array, Paths, flatten_all
from everlearn.rendering.rasterizer import SHAPE_SIZE, Placements, draw_gray, draw_rgb
from everlearn.rng import FloatArray, IntArray
from everlearn.shapes import Outlines, ShapeFamily
from everlearn.shapes.jit import compiled
from everlearn.shapes.philox import Word, words

LIMITS = {"noise": 1, "lighting": 1, "texture": 1, "blur": 16.0, "occluder": 0.5, "clutter": 32}

# Purposes of random words, far from those of shapes, so that a family and its images may share a seed. The
# k-th shape of the clutter has the purpose CLUTTER + k.
TEXTURE, OCCLUDER, LIGHTING, NOISE, CLUTTER = range(1 << 20, (1 << 20) + 5)
# Clutter is made of the last shapes of the family, which no stream uses as classes.
FIRST_CLUTTER_SHAPE, N_CLUTTER_SHAPES = 2**63 - 256, 256
CLUTTER_SCALES = (0.1, 0.25)
OCCLUDER_ASPECTS = (1.5, 4.0)
LATTICE = 7
OPAQUE = np.array([[[0.0, 1.0, 1.0]]], np.float32)

_QUANTILE_BITS = 12
# Values of math functions are rounded to this grid, which hides the last bits, in which machines differ.
_GRID = 2.0**20
_BLUR_STDS = 3.0


@dataclass(frozen=True)
class Nuisances:
    """Strengths of disturbances; 0 turns one off. Each image has its own, determined by (seed, row).

    They are applied in this order: texture and clutter behind the shape, the occluder in front of it, then
    lighting, blur and noise.

    Args:
        noise: standard deviation of Gaussian noise per pixel and channel, relative to the range, 0..1.
        blur: standard deviation of a Gaussian blur in pixels, 0..16.
        occluder: area of a gray bar centered in the middle half of the image, relative to the image, 0..0.5.
        clutter: number of small gray shapes in the background, 0..32.
        lighting: how much darker the image is on one side than on the other, 0..1.
        texture: amplitude of a smooth random pattern in the background, relative to the range, 0..1.

    Example:
        >>> from everlearn.factors import Factors
        >>> from everlearn.rendering import render
        >>> outlines, factors = ShapeFamily(seed=0).outlines([0]), Factors.canonical(1)
        >>> plain, noisy = (render(outlines, factors, 16, nuisances=Nuisances(noise=x)) for x in (0, 0.1))
        >>> bool((plain == noisy).all())
        False
    """

    noise: float = 0.0
    blur: float = 0.0
    occluder: float = 0.0
    clutter: int = 0
    lighting: float = 0.0
    texture: float = 0.0

    def __post_init__(self) -> None:
        for name, limit in LIMITS.items():
            check_range(name, getattr(self, name), 0, limit)
        if not is_integer(self.clutter):
            raise BadInput(f"clutter is {self.clutter!r}; it must be a whole number of shapes")

    @property
    def are_none(self) -> bool:
        """Whether every nuisance is off."""
        return not any(astuple(self))


@dataclass
class NuisanceRenderer:
    """Renders a batch of images with nuisances; a canvas is (n, channels, H, W) from 0 to 1."""

    nuisances: Nuisances
    seed: int
    size: int
    paths: Paths
    placements: Placements
    levels: Float32Array

    def render(
        self, begin: int, end: int, rows: IntArray, channels_first: bool, out: npt.NDArray[Any]
    ) -> None:
        """Render images begin to end into out."""
        ids, levels, strength = rows[begin:end], self.levels[begin:end], self.nuisances
        canvas = self._background(ids, levels)
        self._add_clutter(canvas, ids)
        placements = Placements._make(column[begin:end] for column in self.placements)
        self._compose(canvas, self.paths, placements, levels)
        self._occlude(canvas, ids)
        if strength.lighting:
            light(canvas, 2 * np.pi * self._uniforms(ids, LIGHTING, 1)[:, 0], strength.lighting)
        if strength.blur:
            canvas = blur(canvas, strength.blur)
        if strength.noise:
            std, values = np.float32(strength.noise), canvas.reshape(len(canvas), -1)
            add_noise(np.uint64(self.seed), ids, NOISE, normal_quantiles(), std, values)
        _store(canvas, channels_first, out[begin:end])

    def _background(self, ids: IntArray, levels: Float32Array) -> Float32Array:
        shape = (*levels.shape[:2], self.size, self.size)
        canvas = np.broadcast_to(levels[:, :, 0, None, None], shape).copy()
        if self.nuisances.texture:
            lattice = self._uniforms(ids, TEXTURE, LATTICE * LATTICE).reshape(-1, LATTICE, LATTICE)
            pattern = smooth_pattern(lattice, self.size)  # -1..1
            canvas += np.float32(self.nuisances.texture) * pattern[:, None]
        return canvas

    def _add_clutter(self, canvas: Float32Array, ids: IntArray) -> None:
        for k in range(self.nuisances.clutter):
            which, scale, angle, x, y, level = self._uniforms(ids, CLUTTER + k, 6).T
            low, high = CLUTTER_SCALES
            placements = Placements(
                (which * N_CLUTTER_SHAPES).astype(np.int64), low + (high - low) * scale, 2 * np.pi * angle,
                2 * x - 0.5, 2 * y - 0.5,
            )  # fmt: skip
            self._compose(canvas, self._clutter_paths, placements, level[:, None, None])

    @cached_property
    def _clutter_paths(self) -> Paths:
        outlines = ShapeFamily(seed=self.seed).outlines(FIRST_CLUTTER_SHAPE + np.arange(N_CLUTTER_SHAPES))
        return flatten_all(outlines, SHAPE_SIZE * self.size)

    def _occlude(self, canvas: Float32Array, ids: IntArray) -> None:
        if not self.nuisances.occluder:
            return
        aspect, angle, x, y, level = self._uniforms(ids, OCCLUDER, 5).T
        low, high = OCCLUDER_ASPECTS
        bars = flatten_all(_rectangles(low + (high - low) * aspect), float(self.size))
        scale = np.full(len(ids), np.sqrt(self.nuisances.occluder) / SHAPE_SIZE)
        placements = Placements(np.arange(len(ids)), scale, 2 * np.pi * angle, x.copy(), y.copy())
        self._compose(canvas, bars, placements, level[:, None, None])

    def _compose(
        self, canvas: Float32Array, paths: Paths, placements: Placements, levels: npt.NDArray[Any]
    ) -> None:
        """Draw one shape over each image, weighted by its area coverage of each pixel.

        Levels are (n, channels, 3), or (n, 1, 1) for a gray shape without marker.
        """
        n, channels, size, _ = canvas.shape
        colours, coverage = np.empty_like(canvas), np.empty((n, 1, size, size), np.float32)
        on_black = np.broadcast_to(levels, (n, channels, 3)).astype(np.float32) * OPAQUE
        if channels == 1:
            draw_gray(0, n, paths, placements, size, on_black, colours.reshape(-1))
        else:
            draw_rgb(0, n, paths, placements, size, on_black, colours.reshape(-1), False)
        draw_gray(0, n, paths, placements, size, np.repeat(OPAQUE, n, axis=0), coverage.reshape(-1))
        canvas *= 1 - coverage
        canvas += colours

    def _uniforms(self, ids: IntArray, purpose: int, n: int) -> FloatArray:
        return uniforms(np.uint64(self.seed), ids, purpose, n)


def _rectangles(aspects: FloatArray) -> Outlines:
    """Rectangles of area 1 with these ratios of length to width."""
    half_length = 0.5 * np.sqrt(aspects)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float64)
    vertices = corners * np.stack([half_length, 0.25 / half_length], axis=1)[:, None]  # (n, 4, 2)
    cubics = np.zeros((*vertices.shape, 4))
    cubics[..., 0], cubics[..., 1] = vertices, np.roll(vertices, -1, axis=1) - vertices
    return Outlines(cubics, np.full(len(aspects), 4))


def _store(canvas: Float32Array, channels_first: bool, out: npt.NDArray[Any]) -> None:
    np.clip(canvas, 0, 1, out=canvas)
    if out.dtype == np.uint8:
        canvas = np.floor(canvas * np.float32(255) + np.float32(0.5))
    images = canvas if channels_first and canvas.shape[1] == 3 else np.moveaxis(canvas, 1, -1)
    out[...] = images.reshape(out.shape)


def light(canvas: Float32Array, angles: FloatArray, strength: float) -> None:
    """Darken images (n, channels, H, W) linearly along a direction, by at most `strength`."""
    size = canvas.shape[-1]
    across = ((np.arange(size) + 0.5) / size * 2 - 1)[None]  # -1..1
    cos, sin = (np.rint(f(angles) * _GRID)[:, None] / _GRID for f in (np.cos, np.sin))
    reach = np.abs(cos) + np.abs(sin)
    ramp = (across * (cos / reach))[:, None, :] + (across * (sin / reach))[:, :, None]  # (n, H, W)
    canvas *= (1 - strength * (0.5 + 0.5 * ramp)).astype(np.float32)[:, None]


def blur(canvas: Float32Array, std: float) -> Float32Array:
    """Images (n, channels, H, W) convolved with a Gaussian; the border is repeated."""
    weights = gaussian(std)
    for _ in range(2):  # along rows, then, transposed, along columns
        size, reach = canvas.shape[2], len(weights) // 2
        wide = np.pad(canvas, [(0, 0), (0, 0), (reach, reach), (0, 0)], mode="edge")
        canvas = np.zeros_like(canvas)
        for start, weight in enumerate(weights):
            canvas += weight * wide[:, :, start : start + size]
        canvas = np.ascontiguousarray(canvas.swapaxes(2, 3))
    return canvas


def gaussian(std: float) -> list[np.float32]:
    """Weights of a Gaussian kernel, normalized to 1."""
    reach = math.ceil(_BLUR_STDS * std)
    raw = [math.floor(math.exp(-0.5 * (i / std) ** 2) * _GRID + 0.5) for i in range(-reach, reach + 1)]
    return [np.float32(weight / sum(raw)) for weight in raw]


def smooth_pattern(lattice: FloatArray, size: int) -> Float32Array:
    """Smooth interpolation (n, size, size) in -1..1 of lattice values (n, k, k) in 0..1."""
    position = (np.arange(size) + 0.5) / size * (lattice.shape[1] - 1)
    cell = position.astype(np.int64)
    t = position - cell
    weight = t * t * (3 - 2 * t)
    rows = lattice[:, cell] * (1 - weight)[:, None] + lattice[:, cell + 1] * weight[:, None]
    values = rows[:, :, cell] * (1 - weight) + rows[:, :, cell + 1] * weight
    return np.asarray(2 * values - 1, dtype=np.float32)


@lru_cache(maxsize=1)
def normal_quantiles() -> Float32Array:
    """4096 equally likely standard normal values."""
    n = 1 << _QUANTILE_BITS
    exact = [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)]
    return (np.rint(np.array(exact) * _GRID) / _GRID).astype(np.float32)


@compiled
def uniforms(seed: Word, rows: IntArray, purpose: int, n: int) -> FloatArray:
    """(len(rows), n) uniform numbers in 0..1, determined by (seed, row, purpose)."""
    values = np.empty((len(rows), n))
    for k in range(len(rows)):
        for j in range(n):
            first, _, _, _ = words(seed, Word(rows[k]), j, purpose)
            values[k, j] = (float(first) + 0.5) * 2.0**-32
    return values


@compiled
def add_noise(
    seed: Word, rows: IntArray, purpose: int, quantiles: Float32Array, std: np.float32, images: Float32Array
) -> None:
    """Add Gaussian noise to images (len(rows), values); eight values share one block of random words."""
    low = Word(len(quantiles) - 1)
    for k in range(len(rows)):
        for block in range((images.shape[1] + 7) // 8):
            four = words(seed, Word(rows[k]), block, purpose)
            for j in range(min(8, images.shape[1] - 8 * block)):
                bits = (four[j // 2] >> Word(16 * (j % 2))) & low
                images[k, 8 * block + j] += std * quantiles[bits]
