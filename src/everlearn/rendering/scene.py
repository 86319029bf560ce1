"""Pictures with nuisances: layers painted over one another, then lit, blurred and disturbed."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.rendering.grain import (
    CLUTTER,
    LIGHTING,
    NOISE,
    OCCLUDER,
    TEXTURE,
    add_noise,
    normal_quantiles,
    uniforms,
)
from everlearn.rendering.lens import blur, light, pattern
from everlearn.rendering.nuisances import Nuisances
from everlearn.rendering.paint import paint_gray, paint_planes
from everlearn.rendering.paths import Paths, flatten
from everlearn.rendering.raster import DRAWN_SIZE, Placements
from everlearn.shapes import Outlines, ShapeFamily

Float32Array = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Distractors are shapes from the far end of the family, where no stream will look for its classes.
FIRST_DISTRACTOR, N_DISTRACTORS = 2**63 - 256, 256
CLUTTER_SCALES = (0.1, 0.25)
BAR_RATIOS = (1.5, 4.0)
LATTICE = 7
OPAQUE = np.array([[[0.0, 1.0, 1.0]]], np.float32)


class Scene:
    """A batch of pictures about to be drawn with nuisances; a canvas is (n, channels, H, W) from 0 to 1."""

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
        """Draw pictures begin to end into their places in out."""
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
        """Paint one shape over each picture, exactly as much as it covers each pixel."""
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
    pictures = canvas if channels_first and canvas.shape[1] == 3 else np.moveaxis(canvas, 1, -1)
    out[...] = pictures.reshape(out.shape)
