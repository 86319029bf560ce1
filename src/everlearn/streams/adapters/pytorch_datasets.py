"""The PyTorch data sets themselves; imported only where PyTorch is."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from everlearn.chance import IntArray, draws
from everlearn.errors import BadInput
from everlearn.streams.adapters.pytorch import Field, Transform
from everlearn.streams.stream import Stream
from everlearn.streams.task import Split, Task

Item = tuple[object, ...]


class ImageDataset(Dataset[Item]):
    """Images of some tasks by number, in the order of the stream."""

    def __init__(
        self, tasks: Iterable[Task], split: Split, fields: Sequence[Field], transform: Transform | None
    ) -> None:
        parts = [_columns(task, split, fields) for task in tasks]
        self._columns = {field: torch.cat([part[field] for part in parts]) for field in fields}
        self._transform = transform

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, row: int) -> Item:
        return tuple(_value(field, column[row], self._transform) for field, column in self._columns.items())


class StreamDataset(IterableDataset[Item]):
    """Images task after task; all workers walk the same path and take turns in handing out its items."""

    def __init__(
        self,
        stream: Stream,
        tasks: tuple[int, ...] | None,
        *,
        split: Split,
        fields: Sequence[Field],
        transform: Transform | None,
        batch_size: int | None,
        epochs: int,
        shuffle_seed: int | None,
    ) -> None:
        self._stream, self._tasks = stream, tasks
        self._split, self._fields, self._transform = split, fields, transform
        self._batch_size, self._epochs, self._shuffle_seed = batch_size, epochs, shuffle_seed

    def __iter__(self) -> Iterator[Item]:
        worker = get_worker_info()
        me, n_workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        turn = count()
        for k in count() if self._tasks is None else self._tasks:
            task = self._stream.task(k)
            columns = _columns(task, self._split, self._fields)
            for rows in self._path(task, len(task.split(self._split))):
                if next(turn) % n_workers == me:
                    yield tuple(
                        _value(field, columns[field][rows], self._transform) for field in self._fields
                    )

    def _path(self, task: Task, n: int) -> Iterator[IntArray | int]:
        """The rows of a task in the order in which they are handed out, one by one or in batches."""
        for epoch in range(self._epochs):
            order = np.arange(n)
            if self._shuffle_seed is not None and not task.ordered:
                order = draws(self._shuffle_seed, "shuffle", task.index, epoch).permutation(n)
            if self._batch_size is None:
                yield from order.tolist()
            else:
                yield from np.split(order, range(self._batch_size, n, self._batch_size)) if n else ()


def _columns(task: Task, split: Split, fields: Sequence[Field]) -> dict[Field, torch.Tensor]:
    batch = task.split(split)
    images = batch.images[:, None] if batch.images.ndim == 3 else np.moveaxis(batch.images, 3, 1)
    columns: dict[Field, torch.Tensor] = {
        "image": torch.from_numpy(np.ascontiguousarray(images)),  # (n, C, H, W) uint8
        "label": torch.from_numpy(batch.labels),
        "task": torch.full((len(batch),), task.index),
    }
    if batch.factors is not None:
        columns["factors"] = torch.from_numpy(batch.factors.array()).float()  # (n, 4)
    elif "factors" in fields:
        raise BadInput("the factors of these images are not known; leave 'factors' out of the fields")
    return columns


def _value(field: Field, value: torch.Tensor, transform: Transform | None) -> object:
    if field == "image":
        image = value.float() / 255
        return image if transform is None else transform(image)
    return value
