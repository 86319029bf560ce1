"""Exemplars in RAM, ready for comparison: similarities, points, and the search for poses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.recognition import alignment, light
from everlearn.recognition.features import Descriptors
from everlearn.recognition.similarity import Similarity
from everlearn.recognition.templates import Quantised, TemplateSearch, template_angles
from everlearn.recognition.views import Geometry, geometry
from everlearn.rng import FloatArray, IntArray
from everlearn.shapes.jit import compiled
from everlearn.streams.images.canonical import INNER
from everlearn.streams.images.compose import LUMINANCE
from everlearn.streams.images.decode import Pixels
from everlearn.streams.stream import Images

MAX_MOVED = 0.25
"""Distance by which alignment may move a corner from its position in the template, over the width."""
COARSE, FINE = 8, 4
"""Pixels of an exemplar that are averaged into one point."""


@dataclass(frozen=True, eq=False)
class Points:
    """The points of an exemplar inside its mask, at one resolution."""

    positions: FloatArray  # (n, 2) from -1 to 1
    colours: Descriptors  # (n, 3)
    levels: Descriptors  # (n,) luminance

    @classmethod
    def of(cls, exemplar: Pixels, block: int) -> "Points":
        """Averages over blocks of pixels of an exemplar (size, size, 4)."""
        n = len(exemplar) // block
        sums, weights = np.zeros((n, n, 3), np.float32), np.zeros((n, n), np.float32)
        _add_blocks(exemplar, block, sums, weights)
        inside = weights > 0.9
        if inside.sum() < 24:  # thin objects have no point that is entirely inside
            inside = weights > min(0.5, float(weights.max()) * 0.5)
        rows, columns = np.nonzero(inside)
        positions = np.stack([(2 * columns + 1) / n - 1, (2 * rows + 1) / n - 1], axis=1)
        colours = (sums[inside] / weights[inside][:, None]).astype(np.float32)
        return cls(positions, colours, colours @ np.array(LUMINANCE, np.float32))


@compiled
def _add_blocks(exemplar: Pixels, block: int, sums: Descriptors, weights: Descriptors) -> None:
    """Add the means of alpha, and of colours times alpha, of blocks of an exemplar (size, size, 4)."""
    scale = 1.0 / (255.0 * block * block)
    for i in range(len(weights) * block):
        for j in range(len(weights) * block):
            weight = scale * exemplar[i, j, 3]
            weights[i // block, j // block] += weight
            for c in range(3):
                sums[i // block, j // block, c] += weight * exemplar[i, j, c]


class Pyramid:
    """An image (H, W, 3) and reductions of it by powers of two; `hidden` pixels are left out, as NaN."""

    def __init__(self, image: Images, hidden: npt.NDArray[np.bool_] | None = None) -> None:
        self.colours, self.is_partial = [np.array(image, np.float32, order="C")], hidden is not None
        if hidden is not None:
            self.colours[0][hidden] = np.nan
        while min(self.colours[-1].shape[:2]) >= 32:
            last = self.colours[-1]
            height, width = last.shape[0] // 2, last.shape[1] // 2
            blocks = last[: 2 * height, : 2 * width].reshape(height, 2, width, 2, 3)
            self.colours.append(np.ascontiguousarray(blocks.mean(axis=(1, 3))))
        self.levels = [alignment.luminance(each) for each in self.colours]

    def level_for(self, transform: FloatArray, pixels: float) -> int:
        """The reduction at which an exemplar under a transform is about `pixels` wide."""
        width = 2 * np.sqrt(abs(np.linalg.det(transform[:2, :2])))
        return int(np.clip(np.round(np.log2(max(width, 1e-3) / pixels)), 0, len(self.colours) - 1))


def _to_level(transform: FloatArray, level: int) -> FloatArray:
    """The transform to pixels of a reduction; a negative level goes back."""
    f = 0.5**level
    reduce = np.array([[f, 0, 0.5 * f - 0.5], [0, f, 0.5 * f - 0.5], [0, 0, 1]])
    moved: FloatArray = reduce @ transform
    return moved


def _moved(start: FloatArray, end: FloatArray) -> float:
    """Largest distance of the corners of an exemplar from those of the start, over its width."""
    corners = np.array([[-1, 1, 1, -1], [-1, -1, 1, 1], [1, 1, 1, 1]]) * np.array([[INNER], [INNER], [1]])
    first, last = start @ corners, end @ corners
    if (last[2] <= 0).any():
        return float("inf")
    distances = np.linalg.norm(first[:2] / first[2] - last[:2] / last[2], axis=0)
    return float(distances.max() / (2 * np.sqrt(abs(np.linalg.det(start[:2, :2])))))


class Exemplar:
    """An exemplar and its alignment to images."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels
        self.coarse, self.fine = Points.of(pixels, COARSE), Points.of(pixels, FINE)

    def start(self, view: Geometry, box: tuple[float, float, float, float]) -> FloatArray:
        """The transform (3, 3) that brings a view of the exemplar into a box of the image."""
        left, top, right, bottom = box
        scale = max(right - left, bottom - top) / 2 / view.half
        c, s = scale * np.cos(view.angle), scale * np.sin(view.angle)
        transform = np.array([[c, s, (left + right) / 2 - 0.5], [-s, c, (top + bottom) / 2 - 0.5], [0, 0, 1]])
        transform[:2, 2] -= scale * view.center
        return transform

    def best_starts(self, image: Pyramid, starts: FloatArray, n: int) -> list[FloatArray]:
        """The n of these transforms (m, 3, 3) that explain most of the image before any step, best first."""
        level = image.level_for(starts[0], 16)
        moved = np.stack([_to_level(each, level) for each in starts])
        scores = alignment.start_scores(image.levels[level], self.coarse.positions, self.coarse.levels, moved)
        return [starts[i] for i in np.argsort(-scores, kind="stable")[:n]]

    def align(self, image: Pyramid, start: FloatArray) -> tuple[float, FloatArray]:
        """The share of the image that the exemplar explains better than one colour, and the transform."""
        return self.refine(image, start, self.approach(image, start)[1])

    def approach(self, image: Pyramid, start: FloatArray) -> tuple[float, FloatArray]:
        """The share of a reduced image that the exemplar explains, and the transform: a similarity."""
        level = image.level_for(start, 16)
        at = _to_level(start, level)
        points = self.coarse.positions, self.coarse.levels
        alignment.best_start(image.levels[level], *points, at, image.is_partial)
        share = alignment.align(image.levels[level], *points, at, 4, 8)
        return share, _to_level(at, -level)

    def refine(self, image: Pyramid, start: FloatArray, near: FloatArray) -> tuple[float, FloatArray]:
        """The result of `align`, from the transform that `approach` has found."""
        level = image.level_for(near, 32)
        at = _to_level(near, level)
        for n_parameters in (6, 8):
            alignment.align(image.levels[level], self.fine.positions, self.fine.levels, at, n_parameters, 6)
        explained, by_colour = light.explained_colours(
            image.colours[level], self.fine.positions, self.fine.colours, at
        )
        if _moved(start, found := _to_level(at, -level)) > MAX_MOVED:
            return 0.0, start
        return max(0.0, explained - by_colour), found


class Gallery:
    """All exemplars of a memory: labels, similarities, and data for alignment.

    Args:
        similarity: of descriptors.
        image_at: reads the exemplar (size, size, 4) of a row; an answer needs few.
        templates: (n, angles of templates, length).
        upright: whether things are always seen upright.
    """

    def __init__(
        self,
        similarity: Similarity,
        image_at: Callable[[int], Pixels],
        templates: Quantised,
        *,
        upright: bool,
    ) -> None:
        self.labels, self.similarity, self._image_at = similarity.labels, similarity, image_at
        self._template_angles, self._search = template_angles(upright=upright), TemplateSearch(templates)
        self._exemplars: dict[int, Exemplar] = {}
        self._geometries: dict[tuple[int, int], Geometry] = {}

    def poses(
        self,
        windows: Descriptors,
        boxes: FloatArray,
        rows: IntArray,
        n: int,
        mean: Descriptors | None = None,
    ) -> list[tuple[float, int, FloatArray]]:
        """Score, row and transform of the n best poses of exemplars in windows; `mean`: of the background."""
        found = self._search.search(windows, boxes, rows, mean)[:n]
        return [
            (score, row, self.exemplar(row).start(self._geometry(row, angle), tuple(box)))
            for score, row, angle, box in found
        ]

    def poses_in_box(
        self, image: Pyramid, box: tuple[float, float, float, float], row: int, n: int
    ) -> list[FloatArray]:
        """The n best transforms of an exemplar, at any angle, whose object fills a box of the image."""
        exemplar, n_angles = self.exemplar(row), len(self._template_angles)
        starts = [exemplar.start(self._geometry(row, angle), box) for angle in range(n_angles)]
        return exemplar.best_starts(image, np.stack(starts), n)

    def exemplar(self, row: int) -> Exemplar:
        """The exemplar of a row."""
        if row not in self._exemplars:
            self._exemplars[row] = Exemplar(self._image_at(row))
        return self._exemplars[row]

    def _geometry(self, row: int, angle: int) -> Geometry:
        if (row, angle) not in self._geometries:
            self._geometries[row, angle] = geometry(self.exemplar(row).pixels, self._template_angles[angle])
        return self._geometries[row, angle]
