"""The norms of the views of exemplars in a metric."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from everlearn.recognition.features import Descriptors
from everlearn.recognition.float16 import Float16Array, products, squares, to_float32
from everlearn.recognition.metric import Metric
from everlearn.rng import IntArray


class Norms:
    """Norms of views (n, views, n_features): estimated for all, and exact for requested rows.

    The estimate is the length of a view, times the ratio of norm to length of the exemplar's first view. The
    ratio differs little between views of one exemplar, and lengths take a tenth of the time.

    Args:
        metric: of the norms.
        views: of the exemplars.
    """

    def __init__(self, metric: Metric, views: Float16Array) -> None:
        self.metric, self._views = metric, views
        self._is_exact: npt.NDArray[np.bool_] = np.zeros(len(views), bool)

    @property
    def are_estimates(self) -> bool:
        """Whether norms differ from lengths."""
        return any(removed.size for removed in self.metric.removed)

    def exact(self, rows: IntArray) -> Descriptors:
        """(m, views, layers) of some rows."""
        missing = rows[~self._is_exact[rows]] if self.are_estimates else rows[:0]
        if len(missing):
            found = self.metric.norms(to_float32(self._views[missing]))
            self.estimates[missing] = np.stack(found, axis=-1)
            self._is_exact[missing] = True
        return self.estimates[rows]

    @cached_property
    def estimates(self) -> Descriptors:
        """(n, views, layers), exact in rows that were requested."""
        lengths = self._lengths()
        if not self.are_estimates or not len(lengths):
            return lengths
        first = np.stack(self.metric.norms(to_float32(self._views[:, 0])), axis=-1)
        return lengths * (first / lengths[:, 0])[:, None]

    def _lengths(self) -> Descriptors:
        """The lengths (n, views, layers) of views, relative to the centre of the metric."""
        flat = self._views.reshape(-1, self._views.shape[-1])
        metric = self.metric
        found = squares(flat, metric.widths)
        if metric.center.any():
            found -= 2 * products(flat, metric.center, metric.widths)
            found += np.array([np.square(metric.center[part]).sum() for part in metric.slices], np.float32)
        return np.sqrt(np.maximum(found, 1e-12)).reshape(*self._views.shape[:2], len(metric.widths))
