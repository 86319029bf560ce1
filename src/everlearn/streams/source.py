"""Sources of labelled images: the protocol, concatenation of sources, and split sizes."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rng import IntArray
from everlearn.streams.stream import Batch, Images, Split

SplitSizes = tuple[int, int, int] | tuple[float, float, float]
"""Images per class for train, val and test, as counts or as fractions that sum to 1."""


class Source(Protocol):
    """Classes of indexed images; every method is pure and its cost does not depend on the class id.

    A scenario selects the (class, image) pairs of a task; the source loads them.

    Example:
        >>> from everlearn.streams import sprites
        >>> source = sprites(image_size=16, factor_values=2).source
        >>> ids = source.pool(7, "test")
        >>> images, factors = source.load(np.full(len(ids), 7), ids)
        >>> source.class_name(7), images.shape
        ('shape 7', (1, 16, 16))
    """

    @property
    def n_classes(self) -> int | None:
        """The number of classes; None if infinite."""

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""

    def class_name(self, class_id: int) -> str:
        """A name for display: 'shape 17', 'sandal', 'Greek/character03'."""

    def pool(self, class_id: int, split: Split) -> IntArray:
        """Ids of the images of a class in a split, in a fixed random order; its splits are disjoint."""

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors | None]:
        """One image per row, with its factors if they are known."""

    def exemplars(self, class_ids: IntArray) -> Images | None:
        """One image per class in canonical pose; None if the source has no such images."""


@runtime_checkable
class HasSessions(Protocol):
    """A source whose training images were recorded in sessions, the same number for each class."""

    def sessions(self, class_id: int) -> list[IntArray]:
        """Ids of the training images of each session."""


class ConcatSource(Source):
    """The first `sizes[i]` classes of each source i, numbered consecutively."""

    n_classes: int = 0
    image_shape: tuple[int, ...] = ()

    def __init__(self, parts: Sequence[Source], sizes: Sequence[int]) -> None:
        shapes = {part.image_shape for part in parts}
        if len(shapes) > 1:
            raise BadInput(f"images of different shapes {sorted(shapes)} cannot be in one stream")
        self._parts = parts
        self._starts = np.cumsum([0, *sizes])
        self.n_classes, self.image_shape = int(self._starts[-1]), parts[0].image_shape

    def classes_of(self, part: int) -> IntArray:
        """The classes of one of the sources."""
        return np.arange(self._starts[part], self._starts[part + 1])

    def class_name(self, class_id: int) -> str:
        source, own_id = self._source_of(class_id)
        return source.class_name(own_id)

    def pool(self, class_id: int, split: Split) -> IntArray:
        source, own_id = self._source_of(class_id)
        return source.pool(own_id, split)

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors | None]:
        def load_rows(source: Source, own_ids: IntArray, rows: IntArray) -> Batch:
            images, factors = source.load(own_ids, image_ids[rows])
            return Batch(images, rows, factors)

        batch = self._by_source(class_ids, load_rows)
        return batch.images, batch.factors

    def exemplars(self, class_ids: IntArray) -> Images | None:
        def load_rows(source: Source, own_ids: IntArray, rows: IntArray) -> Batch:
            images = source.exemplars(own_ids)
            return Batch(none, rows[:0]) if images is None else Batch(images, rows)

        none = np.zeros((0, *self.image_shape), np.uint8)
        batch = self._by_source(class_ids, load_rows)
        return batch.images if len(batch) == len(class_ids) else None

    def _source_of(self, class_id: int) -> tuple[Source, int]:
        part = int(np.searchsorted(self._starts, class_id, side="right")) - 1
        return self._parts[part], class_id - int(self._starts[part])

    def _by_source(
        self, class_ids: IntArray, load_rows: Callable[[Source, IntArray, IntArray], Batch]
    ) -> Batch:
        """The rows of each source, in the order of `class_ids`; load_rows returns row numbers as labels."""
        batches = []
        for part, (start, stop) in zip(self._parts, pairwise(self._starts), strict=True):
            rows = np.flatnonzero((class_ids >= start) & (class_ids < stop))
            batches.append(load_rows(part, class_ids[rows] - start, rows))
        joined = Batch.concatenate([batch for batch in batches if len(batch)] or batches[:1])
        return joined[np.argsort(joined.labels, kind="stable")]


SESSIONS: dict[Split, range] = {
    "train": range(8),
    "test": range(8, 11),
    "val": range(11, 12),
    "held_out": range(0),
}
"""The sessions of each split of a `FrameSource`."""


class FrameSource(Source):
    """Objects in sessions of n frames, as in CORe50: image p is frame p % n of session p // n."""

    n_frames: int

    def sessions(self, class_id: int) -> list[IntArray]:
        """Ids of the images of each training session, in temporal order."""
        return [self.n_frames * s + np.arange(self.n_frames) for s in SESSIONS["train"]]

    def pool(self, class_id: int, split: Split) -> IntArray:
        sessions = SESSIONS[split]
        return np.arange(self.n_frames * sessions.start, self.n_frames * sessions.stop)


def split_sizes(n: int, split: SplitSizes) -> tuple[int, int, int]:
    """The numbers of train, val and test images of a class with n images.

    Fractions leave at least one image for each. With counts only val may be 0, and some images may be unused.
    """
    if all(isinstance(size, int) for size in split):
        train, val, test = (int(size) for size in split)
    else:
        val, test = (max(1, round(n * size)) for size in split[1:])
        train = n - val - test
    if min(train, test) < 1 or val < 0 or train + val + test > n:
        raise BadInput(
            f"{n} images per class cannot be split into {train} for train, {val} for val and {test} for "
            "test; train and test need at least one each"
        )
    return train, val, test


def check_split(split: SplitSizes) -> SplitSizes:
    """Return the split; raise if it leaves nothing for train or test, or fractions do not sum to 1."""
    are_counts = all(isinstance(size, int) for size in split)
    if min(split) < 0 or min(split[0], split[2]) == 0 or not (are_counts or abs(sum(split) - 1) < 1e-9):
        raise BadInput(
            f"split is {split}; give three counts per class or three fractions that sum to 1, "
            "with images for train and test"
        )
    return split
