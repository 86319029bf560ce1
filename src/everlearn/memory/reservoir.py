"""A fair sample of all that ever came by."""

from typing import ClassVar

import numpy as np

from everlearn.memory.memory import Memory, columns_of
from everlearn.memory.rows import AnyArray
from everlearn.streams.batch import Batch


class Reservoir(Memory):
    """Every image met so far is kept with the same chance, capacity / n_seen.

    The n-th image draws one of n places; if it is below capacity, it takes over that place.

    Example:
        >>> memory = Reservoir(capacity=3, seed=0)
        >>> for k in range(100):
        ...     memory.add(Batch(np.zeros((10, 8, 8), np.uint8), np.full(10, k)))
        >>> memory
        <Reservoir: 3 of at most 3 images, 1000 seen>
        >>> len(memory.sample(2))
        2

    Reference: Vitter 1985, "Random sampling with a reservoir" (algorithm R).
    """

    kind: ClassVar[str] = "reservoir"

    def add(self, batch: Batch, **extra: AnyArray) -> None:
        """Meet new images, and arrays with one row for each."""
        columns = columns_of(batch, extra)
        filling = min(len(batch), self.capacity - len(self))
        self._rows.append({name: column[:filling] for name, column in columns.items()})
        numbers = self.n_seen + np.arange(len(batch))
        places = (self._chances(len(batch), 1)[:, 0] * (numbers + 1)).astype(np.int64)
        takes = np.flatnonzero((numbers >= self.capacity) & (places < self.capacity))
        last = dict(zip(places[takes].tolist(), takes.tolist(), strict=True))
        self._write(last, columns)
        self.n_seen += len(batch)
