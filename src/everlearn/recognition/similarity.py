"""The similarity of an image with all views of all exemplars, by their descriptors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from everlearn.recognition.features import GRID, Descriptors, mask_weights
from everlearn.recognition.float16 import Float16Array, products, to_float32
from everlearn.recognition.metric import Metric, spread_rows
from everlearn.recognition.norms import Norms
from everlearn.rng import FloatArray, IntArray

MEAN_WEIGHT = 2.0
"""Weight of the mean of a class beside its most similar image."""
MIN_CLASSES = 200
"""Exemplars from which on their common directions can be estimated."""
MIN_DIFFERENCES = 16
"""Differences from which on a metric is fitted to them."""
N_EXACT = 64
"""The most similar exemplars, whose norms are computed exactly."""
BLOCK = 32
"""Exemplars that are compared together; they fit into the processor's cache."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """Descriptors of n exemplars, and the metrics in which they are compared.

    Attributes:
        labels: (n,) the class of each exemplar.
        images: (n,) the number of the image that it comes from.
        descriptors: (n, views, n_features).
        masks: (n, views, GRID, GRID) of 0 to 255.
        textured: (n, n_features) of the first view, on a texture.
        whole: (n, whole views, n_whole) of the exemplars as whole images.
        widths: of the layers of a descriptor.
        whole_widths: of the layers of a descriptor of whole images.
        votes: whether all images of a class are used, or only the most similar one.
    """

    labels: IntArray
    images: IntArray
    descriptors: Float16Array
    masks: npt.NDArray[np.uint8]
    textured: Float16Array
    whole: Float16Array
    widths: tuple[int, ...]
    whole_widths: tuple[int, ...]
    votes: bool = True

    def of_object(self, descriptor: Descriptors) -> Descriptors:
        """(n,) of an object that was cut out (n_features,) with each exemplar, in its best view.

        The norms of views that are less similar are estimates.
        """
        norms = self._object_norms
        found = _unscaled(descriptor, self.descriptors, norms.metric)
        best = np.asarray((found / norms.estimates).mean(axis=2).max(axis=1))
        if norms.are_estimates:
            rows = _largest(best, N_EXACT)
            best[rows] = (found[rows] / norms.exact(rows)).mean(axis=2).max(axis=1)
        return best

    def of_rows(self, descriptors: Descriptors, rows: IntArray) -> Descriptors:
        """(m,) of each of some objects (m, n_features) with one row (m,), in its best view."""
        exact = self._object_norms.exact(rows)
        return np.array(
            [
                (_unscaled(each, self.descriptors[row : row + 1], self._object_norms.metric)[0] / norms)
                .mean(axis=1)
                .max()
                for each, row, norms in zip(descriptors, rows.tolist(), exact, strict=True)
            ],
            np.float32,
        )

    def between(self, first: Descriptors, second: Descriptors) -> float:
        """The similarity of two descriptors (n_features,) of objects."""
        return self._object_norms.metric.similarity(first, second)

    def with_first_view(self, descriptor: Descriptors, row: int) -> float:
        """The similarity of a descriptor (n_features,) of an object with the first view of an exemplar."""
        return self.between(descriptor, to_float32(self.descriptors[row, 0]))

    def of_whole(self, descriptors: Descriptors) -> Descriptors:
        """(n,) of the best of some descriptors (m, n_whole) of a whole image, in the best view."""
        norms = self._whole_norms
        exact = norms.exact(np.arange(len(self.whole)))
        found = [_unscaled(each, self.whole, norms.metric) / exact for each in descriptors]
        return np.asarray(np.stack(found).mean(axis=3).max(axis=(0, 2)))

    def in_scene(self, maps: list[Descriptors], rows: IntArray) -> Descriptors:
        """The similarity of each row, in its best view, with the best window of an image.

        In every window, the maps are averaged over the mask of each view. The averages themselves are not
        computed: inner products of the cells are enough, and there are fewer cells than views. Of many rows,
        the less similar ones are compared in every second view only, and their norms are estimates.

        Args:
            maps: (side, side, width) of each layer.
            rows: of the exemplars.
        """
        scene = self._scene_layers(maps)
        if len(rows) <= N_EXACT:
            return self._in_scene(scene, rows, self._scene_norms.exact(rows))
        best = self._in_scene(scene, rows, self._scene_norms.estimates[rows], step=2)
        first = _largest(best, N_EXACT)
        best[first] = self._in_scene(scene, rows[first], self._scene_norms.exact(rows[first]))
        return best

    def _in_scene(
        self, scene: list["SceneLayer"], rows: IntArray, norms: Descriptors, step: int = 1
    ) -> Descriptors:
        """The similarities of rows, in the best of every `step`-th view, with the best window."""
        n_views, best = self.descriptors.shape[1], np.empty(len(rows), np.float32)
        for start in range(0, len(rows), BLOCK):  # some rows at a time
            part = rows[start : start + BLOCK]
            views = (part[:, None] * n_views + np.arange(0, n_views, step)).ravel()
            flat = to_float32(self.descriptors[part, ::step]).reshape(len(views), -1)
            scales = norms[start : start + BLOCK, ::step].reshape(len(views), -1)
            found = self._in_windows(scene, flat, views, scales)
            best[start : start + BLOCK] = found.reshape(len(part), -1).max(axis=1)
        return best

    def with_class_means(self, by_row: FloatArray) -> FloatArray:
        """Similarities (n,) of rows, averaged with that of the mean of their class if `votes` is set.

        The similarity with the mean descriptor of a class is the mean similarity with its images times the
        ratio of their lengths, so it follows from the similarities of rows, whichever views these are of.
        """
        found = by_row.copy()
        for label, ratio in self._length_ratios.items() if self.votes else ():
            rows = np.flatnonzero((self.labels == label) & (by_row > -2.0))
            if len(rows):
                numbers = self.images[rows]
                best = [by_row[rows[numbers == number]].max() for number in np.unique(numbers)]
                mean = ratio * np.mean(best) if len(best) > 1 else best[0]
                found[rows] = (by_row[rows] + MEAN_WEIGHT * mean) / (1 + MEAN_WEIGHT)
        return found

    @cached_property
    def _length_ratios(self) -> dict[int, float]:
        """The mean length of the descriptors of a class over the length of their mean, if it has several."""
        metric, found = self._object_norms.metric, {}
        for label in self._classes_with_several_images:
            turned = self._aligned_views(self._first_rows(label))
            lengths, mean = metric.norms(turned), metric.norms(turned.mean(axis=0))
            ratios = [np.mean(each) / whole for each, whole in zip(lengths, mean, strict=True)]
            found[label] = float(np.mean(ratios))
        return found

    def _aligned_views(self, rows: IntArray) -> Descriptors:
        """Of each row, the view (n_features,) that is most similar to the first view of the first row."""
        views, metric = to_float32(self.descriptors[rows]), self._object_norms.metric
        norms = metric.norms(views)
        dual, layers = metric.dual(metric.layers(views[0, 0])), metric.layers(views)
        cosines = [layer @ each / norm for layer, each, norm in zip(layers, dual, norms, strict=True)]
        return np.asarray(views[np.arange(len(rows)), np.sum(cosines, axis=0).argmax(axis=1)])

    def _first_rows(self, label: int) -> IntArray:
        """The first row of each image of a class."""
        rows = np.flatnonzero(self.labels == label)
        return rows[np.unique(self.images[rows], return_index=True)[1]]

    @cached_property
    def _classes_with_several_images(self) -> list[int]:
        """The classes with several images."""
        pairs = np.unique(np.stack([self.labels, self.images], axis=1), axis=0)
        labels, counts = np.unique(pairs[:, 0], return_counts=True)
        return [int(label) for label in labels[counts > 1]]

    def _scene_layers(self, maps: list[Descriptors]) -> list["SceneLayer"]:
        metric, layers = self._scene_norms.metric, []
        for i, each in enumerate(maps):
            part = metric.slices[i]
            cells = each.reshape(-1, each.shape[-1]) - metric.center[part] - self._background_shift[part]
            dual = metric.dual_of(i, cells)
            squares = np.asarray(cells @ dual.T, np.float32)
            layers.append(SceneLayer(part, each.shape[0], dual, squares, dual @ metric.center[part]))
        return layers

    def _in_windows(
        self, scene: list["SceneLayer"], flat: Descriptors, views: IntArray, norms: Descriptors
    ) -> Descriptors:
        """The similarities of some views (m,) with the best window."""
        inner = [(layer.dual @ flat[:, layer.part].T - layer.offset[:, None]).T for layer in scene]
        coarsest = min(layer.side for layer in scene)
        best = np.full(len(views), -np.inf, np.float32)
        for top, left in _offsets(coarsest):
            total = np.zeros(len(views), np.float32)
            for i, layer in enumerate(scene):
                window, cells = layer.window(coarsest, top, left)
                weights = self._cell_weights[window][views]
                squares = np.einsum("vc,vc->v", weights @ layer.squares[np.ix_(cells, cells)], weights)
                product = np.einsum("vc,vc->v", weights, inner[i][:, cells])
                total += product / (np.sqrt(np.maximum(squares, 1e-12)) * norms[:, i])
            best = np.maximum(best, total / len(scene))
        return best

    @cached_property
    def _cell_weights(self) -> dict[int, Descriptors]:
        """The weights (n * views, cells) of the cells of a map, by the cells per side of a view."""
        masks = np.asarray(self.masks.reshape(-1, GRID, GRID) / np.float32(255), np.float32)
        return {side: mask_weights(masks, side).reshape(len(masks), -1) for side in (GRID // 2, GRID)}

    @cached_property
    def _first_views(self) -> Descriptors:
        """(n, n_features) of first views."""
        return to_float32(self.descriptors[:, 0])

    @cached_property
    def _object_norms(self) -> Norms:
        """The metric for objects that were cut out, and the norms of all views."""
        within, n = self._differences_within_classes(self._first_views), len(self.labels)
        if len(within) >= MIN_DIFFERENCES:
            return Norms(Metric.fit(self.widths, self._first_views.mean(axis=0), within), self.descriptors)
        if n >= MIN_CLASSES:
            center = self._first_views.mean(axis=0)
            spread = self._first_views[spread_rows(n)] - center
            return Norms(Metric.fit(self.widths, center, spread), self.descriptors)
        return Norms(Metric.cosine(self.widths), self.descriptors)

    @cached_property
    def _scene_norms(self) -> Norms:
        """The metric for objects in front of an unknown background, and the norms of all views."""
        if len(self.labels) < MIN_DIFFERENCES:
            return Norms(Metric.cosine(self.widths), self.descriptors)
        differences = np.concatenate(
            [
                to_float32(self.textured) - self._first_views,
                self._differences_within_classes(self._first_views),
            ]
        )
        metric = Metric.fit(self.widths, self._first_views.mean(axis=0), differences)
        return Norms(metric, self.descriptors)

    @cached_property
    def _background_shift(self) -> Descriptors:
        """The mean change of descriptors by a textured background."""
        differences = to_float32(self.textured) - self._first_views
        return differences.mean(axis=0) * (len(differences) >= MIN_DIFFERENCES)

    @cached_property
    def _whole_norms(self) -> Norms:
        """The metric for whole images, and the norms of all views."""
        first = to_float32(self.whole[:, 0])
        within = self._differences_within_classes(first)
        metric = Metric.cosine(self.whole_widths)
        if len(within) >= MIN_DIFFERENCES:
            metric = Metric.fit(self.whole_widths, first.mean(axis=0), within)
        return Norms(metric, self.whole)

    def _differences_within_classes(self, first: Descriptors) -> Descriptors:
        """Differences of first views from the mean of the class, of classes with several images."""
        found = [np.zeros((0, first.shape[1]), np.float32)]
        for label in self._classes_with_several_images:
            rows = self._first_rows(label)
            found.append((first[rows] - first[rows].mean(axis=0)) * np.sqrt(len(rows) / (len(rows) - 1)))
        return np.concatenate(found).astype(np.float32)


@dataclass(frozen=True, eq=False)
class SceneLayer:
    """The cells of one map of an image, prepared for comparison.

    Attributes:
        part: of the features of a descriptor.
        side: cells per side.
        dual: (cells, width) whose dot products are inner products.
        squares: (cells, cells) their inner products.
        offset: (cells,) inner products with the centre.
    """

    part: slice
    side: int
    dual: Descriptors
    squares: Descriptors
    offset: Descriptors

    def window(self, coarsest: int, top: int, left: int) -> tuple[int, IntArray]:
        """Cells per side of a window, and the cells in it; its position is in cells of the coarsest map."""
        n = self.side // coarsest
        window = n * GRID // 2
        rows, columns = n * top + np.arange(window), n * left + np.arange(window)
        return window, (rows[:, None] * self.side + columns).ravel()


def _unscaled(descriptor: Descriptors, exemplars: Float16Array, metric: Metric) -> Descriptors:
    """(n, views, layers) inner products with exemplars (n, views, width), over the norm of the descriptor."""
    layers = metric.layers(descriptor)
    dual = metric.dual(layers)
    own = [np.sqrt(max(float(each @ other), 1e-12)) for each, other in zip(layers, dual, strict=True)]
    offsets = [each @ metric.center[part] for each, part in zip(dual, metric.slices, strict=True)]
    flat = exemplars.reshape(-1, exemplars.shape[-1])
    found = products(flat, np.concatenate(dual), metric.widths)
    found -= np.array(offsets, np.float32)
    found /= np.array(own, np.float32)
    return found.reshape(*exemplars.shape[:2], len(layers))


def _largest(values: Descriptors, n: int) -> IntArray:
    """The indices of the n largest values."""
    if len(values) <= n:
        return np.arange(len(values))
    return np.argpartition(-values, n)[:n]


def _offsets(coarsest: int) -> list[tuple[int, int]]:
    """The positions of all windows, in cells of the coarsest map."""
    n = coarsest - GRID // 2 + 1
    return [(top, left) for top in range(n) for left in range(n)]
