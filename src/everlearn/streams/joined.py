"""Several sources as one."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from everlearn.chance import IntArray
from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.streams.batch import Batch, Images
from everlearn.streams.source import Source
from everlearn.streams.task import Split


class JoinedSource:
    """The classes of several sources, numbered one source after another.

    Args:
        parts: the sources.
        sizes: how many classes of each to take.
    """

    def __init__(self, parts: Sequence[Source], sizes: Sequence[int]) -> None:
        shapes = {part.image_shape for part in parts}
        if len(shapes) > 1:
            raise BadInput(f"pictures of different shapes {sorted(shapes)} cannot be in one stream")
        self._parts = parts
        self._starts = np.cumsum([0, *sizes])

    @property
    def n_classes(self) -> int:
        """How many classes all sources have together."""
        return int(self._starts[-1])

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""
        return self._parts[0].image_shape

    def members(self, part: int) -> IntArray:
        """The classes of one of the sources."""
        return np.arange(self._starts[part], self._starts[part + 1])

    def class_name(self, class_id: int) -> str:
        """What its own source calls a class."""
        source, own = self._own(class_id)
        return source.class_name(own)

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The pictures of a class that belong to a split."""
        source, own = self._own(class_id)
        return source.pool(own, split)

    def draw(self, class_ids: IntArray, picture_ids: IntArray) -> tuple[Images, Factors | None]:
        """The pictures themselves, row by row."""

        def some(source: Source, own: IntArray, rows: IntArray) -> Batch:
            images, factors = source.draw(own, picture_ids[rows])
            return Batch(images, rows, factors)

        drawn = self._by_source(class_ids, some)
        return drawn.images, drawn.factors

    def exemplars(self, class_ids: IntArray) -> Images | None:
        """One canonical picture per class, if every source has such a thing."""

        def some(source: Source, own: IntArray, rows: IntArray) -> Batch:
            images = source.exemplars(own)
            return Batch(bare, rows[:0]) if images is None else Batch(images, rows)

        bare = np.zeros((0, *self.image_shape), np.uint8)
        drawn = self._by_source(class_ids, some)
        return drawn.images if len(drawn) == len(class_ids) else None

    def _own(self, class_id: int) -> tuple[Source, int]:
        part = int(np.searchsorted(self._starts, class_id, side="right")) - 1
        return self._parts[part], class_id - int(self._starts[part])

    def _by_source(self, class_ids: IntArray, some: Callable[[Source, IntArray, IntArray], Batch]) -> Batch:
        """What each source gives for its rows, put back in the order of the rows."""
        batches = []
        for part, (start, stop) in zip(self._parts, pairwise(self._starts), strict=True):
            rows = np.flatnonzero((class_ids >= start) & (class_ids < stop))
            batches.append(some(part, class_ids[rows] - start, rows))
        joined = Batch.concatenate([batch for batch in batches if len(batch)] or batches[:1])
        return joined[np.argsort(joined.labels, kind="stable")]
