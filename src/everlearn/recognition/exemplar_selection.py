"""Selection of the images that a memory keeps, if it keeps at most k of each class."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from everlearn.errors import check_range, unknown
from everlearn.memory import OnDiskMemory
from everlearn.memory.buffers import herd
from everlearn.recognition.features import Descriptors
from everlearn.rng import IntArray, rng_at

Policy = Literal["first", "random", "herding"]
Combine = Literal["vote", "best"]
MAX_KEPT = 1_000_000


@dataclass(frozen=True)
class ExemplarSelection:
    """Number and choice of the images kept of a class, and how they are combined; settings of a memory.

    Attributes:
        keep: images of each class; None for all.
        policy: the "first" ones; "random" ones, each of those that were taught with equal probability; or
            those whose mean is nearest to the mean of all that were taught ("herding").
        combine: all images of a class "vote", or only the "best" one counts.
    """

    keep: int | None = None
    policy: Policy = "first"
    combine: Combine = "vote"

    def __post_init__(self) -> None:
        if self.keep is not None:
            check_range("keep", self.keep, 1, MAX_KEPT)
        for kind, value, known in (
            ("policy", self.policy, get_args(Policy)),
            ("combine", self.combine, get_args(Combine)),
        ):
            if value not in known:
                raise unknown(kind, value, known)

    def removed(
        self, numbers: IntArray, n_taught: int, descriptors: Descriptors, mean: Descriptors
    ) -> int | None:
        """The index in `numbers` of the image to erase; None if all are kept.

        Args:
            numbers: (k + 1,) of the images, in the order of teaching; the last one is new.
            n_taught: images that the class was taught with, with the new one.
            descriptors: (k + 1, n_features) of the images.
            mean: (n_features,) of the descriptors of all images that were taught.
        """
        if self.keep is None or len(numbers) <= self.keep:
            return None
        newest = len(numbers) - 1
        if self.policy == "first":
            return newest
        if self.policy == "random":  # a reservoir, as in `memory.buffers.Reservoir`
            slot = int(rng_at(0, "kept exemplars", int(numbers[-1])).integers(1, n_taught)[0])
            return slot if slot < newest else newest
        kept = herd(descriptors, len(numbers) - 1, mean)
        return int(np.setdiff1d(np.arange(len(numbers)), kept)[0])


def limit_images(memory: OnDiskMemory, label: int, selection: ExemplarSelection) -> None:
    """Count an image that was added to a class, and erase one image if the class has too many."""
    if selection.keep is None:
        return
    rows = np.flatnonzero(memory.labels() == label)
    numbers, first = np.unique(memory.columns("image")[rows], return_index=True)
    descriptors = memory.columns("descriptors")[rows[first], 0].astype(np.float32)
    before = int(memory.columns("taught")[rows].max())
    mean = (
        memory.columns("mean")[rows[0]] if before else descriptors[:-1].sum(axis=0) / max(1, len(numbers) - 1)
    )
    n_taught = max(before, len(numbers) - 1) + 1
    mean = mean + (descriptors[-1] - mean) / n_taught
    memory.write_column("taught", np.full(len(rows), n_taught), rows)
    memory.write_column("mean", np.repeat(mean[None], len(rows), axis=0), rows)
    removed = selection.removed(numbers, n_taught, descriptors, mean)
    if removed is not None:
        memory.remove(rows[memory.columns("image")[rows] == numbers[removed]])
