"""Images with what is known about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.chance import IntArray, draws
from everlearn.factors import Factors

Images = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Batch:
    """Images, their labels and their ground truth, row by row.

    Attributes:
        images: (n, H, W) gray or (n, H, W, 3) colour, uint8.
        labels: (n,) what each image shows.
        factors: where and how it is shown, or None where nobody knows (plain photographs).
        tasks: (n,) the task each image came from, only in task-incremental streams, which give it away
            at test time too.
    """

    images: Images
    labels: IntArray
    factors: Factors | None = None
    tasks: IntArray | None = None

    def __post_init__(self) -> None:
        n = len(self.images)
        others = (self.labels, self.factors, self.tasks)
        if any(part is not None and len(part) != n for part in others):
            raise ValueError("images, labels, factors and tasks must have one row per image")

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, which: Any) -> "Batch":
        rows = np.atleast_1d(np.arange(len(self))[which])
        return Batch(
            self.images[rows],
            self.labels[rows],
            None if self.factors is None else self.factors[rows],
            None if self.tasks is None else self.tasks[rows],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        arrays = ((self.images, other.images), (self.labels, other.labels), (self.tasks, other.tasks))
        return self.factors == other.factors and all(_same(a, b) for a, b in arrays)

    __hash__ = None  # type: ignore[assignment]

    def pieces(self, size: int) -> Iterator["Batch"]:
        """The batch in consecutive pieces of at most `size` rows."""
        return (self[start : start + size] for start in range(0, len(self), size))

    def shuffled(self, seed: int, *address: int) -> "Batch":
        """The same rows in an order that depends only on seed and address."""
        return self[draws(seed, "shuffle", *address).permutation(len(self))]

    @classmethod
    def concatenate(cls, parts: Sequence["Batch"]) -> "Batch":
        """Several batches, one after another; factors or tasks stay only if every part has them."""
        factors = [part.factors for part in parts if part.factors is not None]
        tasks = [part.tasks for part in parts if part.tasks is not None]
        return cls(
            np.concatenate([part.images for part in parts]),
            np.concatenate([part.labels for part in parts]),
            Factors.concatenate(factors) if len(factors) == len(parts) else None,
            np.concatenate(tasks) if len(tasks) == len(parts) else None,
        )


def _same(a: npt.NDArray[Any] | None, b: npt.NDArray[Any] | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
