"""Several sources as one."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rng import IntArray
from everlearn.streams.stream import Batch, Images, Split

Shares = tuple[int, int, int] | tuple[float, float, float]
"""Images per class for train, val and test, as counts or as shares that add up to 1."""


def split_sizes(n: int, shares: Shares) -> tuple[int, int, int]:
    """How many of a class's n images go to train, val and test.

    Shares leave at least one image for each; of counts, only val may be 0, and what they leave over
    is not used.

    Example:
        >>> split_sizes(625, (0.96, 0.024, 0.016))
        (600, 15, 10)
        >>> split_sizes(16, (0.96, 0.024, 0.016))
        (14, 1, 1)
        >>> split_sizes(625, (100, 0, 25))
        (100, 0, 25)
    """
    if all(isinstance(share, int) for share in shares):
        train, val, test = (int(share) for share in shares)
    else:
        val, test = (max(1, round(n * share)) for share in shares[1:])
        train = n - val - test
    if min(train, test) < 1 or val < 0 or train + val + test > n:
        raise BadInput(
            f"{n} images per class cannot be split into {train} for train, {val} for val and {test} for "
            "test; train and test need at least one each"
        )
    return train, val, test


def check_shares(shares: Shares) -> Shares:
    """The shares themselves, or a complaint if they can split nothing."""
    whole = all(isinstance(share, int) for share in shares)
    if min(shares) < 0 or min(shares[0], shares[2]) == 0 or not (whole or abs(sum(shares) - 1) < 1e-9):
        raise BadInput(
            f"split is {shares}; give three counts per class or three shares that add up to 1, "
            "with something for train and test"
        )
    return shares


class Source(Protocol):
    """A collection of classes, each with numbered images; every method is pure and O(1) in the class.

    A scenario decides which (class, image) pairs make up a task; the source only draws them.
    """

    @property
    def n_classes(self) -> int | None:
        """How many classes there are; None means endless."""

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""

    def class_name(self, class_id: int) -> str:
        """A word for people: 'shape 17', 'sandal', 'Greek/character03'."""

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The numbers of the images of a class that belong to a split, in a fixed seeded order.

        The pools of one class are disjoint.
        """

    def draw(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors | None]:
        """The images themselves, row by row, with their ground truth where it is known."""

    def exemplars(self, class_ids: IntArray) -> Images | None:
        """One canonical image per class, or None if this source has no such thing."""


@runtime_checkable
class Filmed(Protocol):
    """A source whose training images were taken in sessions, as many for every class."""

    def sessions(self, class_id: int) -> list[IntArray]:
        """The numbers of the images of each session."""


class JoinedSource:
    """The classes of several sources, numbered one source after another.

    Args:
        parts: the sources.
        sizes: how many classes of each to take.
    """

    def __init__(self, parts: Sequence[Source], sizes: Sequence[int]) -> None:
        shapes = {part.image_shape for part in parts}
        if len(shapes) > 1:
            raise BadInput(f"images of different shapes {sorted(shapes)} cannot be in one stream")
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
        """The images of a class that belong to a split."""
        source, own = self._own(class_id)
        return source.pool(own, split)

    def draw(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors | None]:
        """The images themselves, row by row."""

        def some(source: Source, own: IntArray, rows: IntArray) -> Batch:
            images, factors = source.draw(own, image_ids[rows])
            return Batch(images, rows, factors)

        drawn = self._by_source(class_ids, some)
        return drawn.images, drawn.factors

    def exemplars(self, class_ids: IntArray) -> Images | None:
        """One canonical image per class, if every source has such a thing."""

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
