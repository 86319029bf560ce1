"""The similarity of an image with all views of all exemplars, by their descriptors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everlearn.recognition.features import GRID, Descriptors, mask_weights
from everlearn.recognition.metric import Metric
from everlearn.recognition.views import Masks
from everlearn.rng import FloatArray, IntArray

MIN_CLASSES = 200
"""Exemplars from which on what all things have in common is known from them."""
MIN_DIFFERENCES = 16
"""Differences from which on a metric is fitted to them."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """Descriptors of n exemplars, and the metrics in which they are compared.

    Attributes:
        labels: (n,) the class of each exemplar.
        images: (n,) the number of the image that it comes from.
        descriptors: (n, views, n_features).
        masks: (n, views, GRID, GRID).
        textured: (n, n_features) of the first view, on a texture.
        whole: (n, whole views, n_whole) of the exemplars as whole images.
        widths: of the layers of a descriptor.
        whole_widths: of the layers of a descriptor of whole images.
        votes: whether all images of a class count, or only the most similar one.
    """

    labels: IntArray
    images: IntArray
    descriptors: Descriptors
    masks: Masks
    textured: Descriptors
    whole: Descriptors
    widths: tuple[int, ...]
    whole_widths: tuple[int, ...]
    votes: bool = True

    def of_objects(self, descriptors: Descriptors) -> Descriptors:
        """(m, n, views) of descriptors (m, n_features) of objects that were cut out."""
        return metric_similarities(descriptors, self.descriptors, *self._object_metric)

    def of_rows(self, descriptors: Descriptors, rows: IntArray) -> Descriptors:
        """(m, m, views) of the same with some rows (m,)."""
        metric, norms = self._object_metric
        return metric_similarities(
            descriptors, self.descriptors[rows], metric, [each[rows] for each in norms]
        )

    def between(self, first: Descriptors, second: Descriptors) -> float:
        """The similarity of two descriptors (n_features,) of objects."""
        metric, exemplar = self._object_metric[0], second[None, None]
        return float(metric_similarities(first[None], exemplar, metric, metric.norms(exemplar))[0, 0, 0])

    def of_whole(self, descriptors: Descriptors) -> Descriptors:
        """(n,) of the best of some descriptors (m, n_whole) of a whole image, in the best view."""
        return metric_similarities(descriptors, self.whole, *self._whole_metric).max(axis=(0, 2))

    def in_scene(self, maps: list[Descriptors], rows: IntArray) -> Descriptors:
        """The similarity of each row, in its best view, with the best window of an image.

        In every window, the maps are averaged over the mask of each view. The averages themselves are not
        computed: inner products of the cells are enough, and there are fewer cells than views.

        Args:
            maps: (side, side, width) of each layer.
            rows: of the exemplars.
        """
        metric, norms = self._scene_metric
        n, n_views = self.descriptors.shape[:2]
        flat, views = self.descriptors.reshape(n * n_views, -1), np.arange(n * n_views)
        if len(rows) < n:  # else a copy of all descriptors would take longer than what is computed with it
            views = (rows[:, None] * n_views + np.arange(n_views)).ravel()
            flat = flat[views]
        layers = []
        for i, each in enumerate(maps):
            part = metric.slices[i]
            cells = each.reshape(-1, each.shape[-1]) - metric.center[part] - self._shift[part]
            dual = metric.dual_of(i, cells)
            squares: Descriptors = np.asarray(cells @ dual.T, np.float32)
            products = dual @ flat[:, part].T
            products -= (dual @ metric.center[part])[:, None]
            products /= norms[i].ravel()[views]
            layers.append((products, squares, each.shape[0]))
        found = [self._in_window(layers, views, top, left) for top, left in _offsets(maps)]
        return np.max(found, axis=0).reshape(len(rows), -1).max(axis=1)

    def with_class_means(self, by_row: FloatArray) -> FloatArray:
        """Similarities (n,) of rows, averaged with the mean over the images of their class if these vote."""
        found = by_row.copy()
        for label in self._several if self.votes else ():
            rows = np.flatnonzero((self.labels == label) & (by_row > -2.0))
            if len(rows):
                numbers = self.images[rows]
                best = [by_row[rows[numbers == number]].max() for number in np.unique(numbers)]
                found[rows] = (by_row[rows] + np.mean(best)) / 2
        return found

    @cached_property
    def _several(self) -> list[int]:
        """The classes with several images."""
        pairs = np.unique(np.stack([self.labels, self.images], axis=1), axis=0)
        labels, counts = np.unique(pairs[:, 0], return_counts=True)
        return [int(label) for label in labels[counts > 1]]

    def _in_window(
        self, layers: list[tuple[Descriptors, Descriptors, int]], views: IntArray, top: int, left: int
    ) -> Descriptors:
        """The similarities of views with a window; its place is in cells of the coarsest map."""
        total, coarsest = np.zeros(len(views), np.float32), min(side for _, _, side in layers)
        for products, gram, side in layers:
            n = side // coarsest
            window = n * GRID // 2
            weights = self._weights[window]
            if len(views) < len(weights):
                weights = weights[views]
            rows, columns = n * top + np.arange(window), n * left + np.arange(window)
            cells = (rows[:, None] * side + columns).ravel()
            squares = np.einsum("vc,vc->v", weights @ gram[np.ix_(cells, cells)], weights)
            total += np.einsum("vc,cv->v", weights, products[cells]) / np.sqrt(np.maximum(squares, 1e-12))
        return np.asarray(total / len(layers), np.float32)

    @cached_property
    def _weights(self) -> dict[int, Descriptors]:
        """The weights (n * views, cells) of the cells of a map, by the cells per side of a view."""
        masks = self.masks.reshape(-1, GRID, GRID)
        return {side: mask_weights(masks, side).reshape(len(masks), -1) for side in (GRID // 2, GRID)}

    @cached_property
    def _object_metric(self) -> tuple[Metric, list[Descriptors]]:
        """The metric for objects that were cut out, and the norms of all views."""
        first, within = self.descriptors[:, 0], self._within(self.descriptors)
        center = first.mean(axis=0)
        if len(within) >= MIN_DIFFERENCES:
            return self._with_norms(Metric.fit(self.widths, center, within))
        if len(first) >= MIN_CLASSES:
            return self._with_norms(Metric.fit(self.widths, center, first - center))
        return self._with_norms(Metric.cosine(self.widths))

    @cached_property
    def _scene_metric(self) -> tuple[Metric, list[Descriptors]]:
        """The metric for objects in front of an unknown background, and the norms of all views."""
        first = self.descriptors[:, 0]
        if len(first) < MIN_DIFFERENCES:
            return self._with_norms(Metric.cosine(self.widths))
        differences = np.concatenate([self.textured - first, self._within(self.descriptors)])
        return self._with_norms(Metric.fit(self.widths, first.mean(axis=0), differences))

    @cached_property
    def _shift(self) -> Descriptors:
        """The mean difference that a background makes."""
        differences = self.textured - self.descriptors[:, 0]
        return differences.mean(axis=0) * (len(differences) >= MIN_DIFFERENCES)

    @cached_property
    def _whole_metric(self) -> tuple[Metric, list[Descriptors]]:
        """The metric for whole images, and the norms of all views."""
        first, within = self.whole[:, 0], self._within(self.whole)
        metric = Metric.cosine(self.whole_widths)
        if len(within) >= MIN_DIFFERENCES:
            metric = Metric.fit(self.whole_widths, first.mean(axis=0), within)
        return metric, metric.norms(self.whole)

    def _within(self, descriptors: Descriptors) -> Descriptors:
        """Differences of first views from the mean of the class, of classes with several images."""
        first, found = descriptors[:, 0], [np.zeros((0, descriptors.shape[2]), np.float32)]
        for label in self._several:
            rows = np.flatnonzero(self.labels == label)
            rows = rows[np.unique(self.images[rows], return_index=True)[1]]
            found.append((first[rows] - first[rows].mean(axis=0)) * np.sqrt(len(rows) / (len(rows) - 1)))
        return np.concatenate(found).astype(np.float32)

    def _with_norms(self, metric: Metric) -> tuple[Metric, list[Descriptors]]:
        return metric, metric.norms(self.descriptors)


def metric_similarities(
    descriptors: Descriptors, exemplars: Descriptors, metric: Metric, norms: list[Descriptors]
) -> Descriptors:
    """(m, n, views) of descriptors (m, width) with those of exemplars (n, views, width), by layers.

    Args:
        descriptors: that are compared.
        exemplars: that they are compared with.
        metric: of the inner products.
        norms: (n, views) of the exemplars, for each layer.
    """
    flat = exemplars.reshape(-1, exemplars.shape[-1])
    total = np.zeros((len(descriptors), *exemplars.shape[:2]), np.float32)
    layers = metric.layers(descriptors)
    for i, (layer, dual) in enumerate(zip(layers, metric.dual(layers), strict=True)):
        part = metric.slices[i]
        products = dual @ flat[:, part].T - (dual @ metric.center[part])[:, None]
        own = np.sqrt(np.maximum((layer * dual).sum(axis=1), 1e-12))
        total += products.reshape(total.shape) / (own[:, None, None] * norms[i])
    return np.asarray(total / len(layers), np.float32)


def _offsets(maps: list[Descriptors]) -> list[tuple[int, int]]:
    """The places of all windows, in cells of the coarsest map."""
    n = min(each.shape[0] for each in maps) - GRID // 2 + 1
    return [(top, left) for top in range(n) for left in range(n)]
