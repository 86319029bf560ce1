"""Streams as PyTorch datasets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from everlearn.errors import BadInput, unknown
from everlearn.rng import IntArray, rng_at
from everlearn.streams.exports.write import resolve_tasks
from everlearn.streams.stream import SPLITS, Split, Stream, Task

Field = Literal["image", "label", "factors", "task"]
FIELDS: tuple[Field, ...] = ("image", "label", "factors", "task")
Transform = Callable[[torch.Tensor], Any]
Item = tuple[object, ...]


class ImageDataset(Dataset[Item]):
    """Images of tasks in the order of the stream."""

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


@dataclass(frozen=True, eq=False)
class StreamDataset(IterableDataset[Item]):
    """Images of tasks in sequence; all workers iterate over the same order and yield items in turn."""

    stream: Stream
    tasks: tuple[int, ...] | None
    split: Split
    fields: Sequence[Field]
    transform: Transform | None
    batch_size: int | None
    epochs: int
    shuffle_seed: int | None

    def __iter__(self) -> Iterator[Item]:
        worker = get_worker_info()
        rank, n_workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        position = count()
        for k in count() if self.tasks is None else self.tasks:
            task = self.stream.task(k)
            columns = _columns(task, self.split, self.fields)
            for rows in self._order(task, len(task.split(self.split))):
                if next(position) % n_workers == rank:
                    yield tuple(_value(field, columns[field][rows], self.transform) for field in self.fields)

    def _order(self, task: Task, n: int) -> Iterator[IntArray | int]:
        """Rows of a task in the order in which they are yielded, single or in batches."""
        for epoch in range(self.epochs):
            order = np.arange(n)
            if self.shuffle_seed is not None and not task.ordered:
                order = rng_at(self.shuffle_seed, "shuffle", task.index, epoch).permutation(n)
            if self.batch_size is None:
                yield from order.tolist()
            else:
                yield from np.split(order, range(self.batch_size, n, self.batch_size)) if n else ()


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
        raise BadInput("the factors of these images are unknown; remove 'factors' from the fields")
    return columns


def _value(field: Field, value: torch.Tensor, transform: Transform | None) -> object:
    if field == "image":
        image = value.float() / 255
        return image if transform is None else transform(image)
    return value


def to_torch(
    stream: Stream,
    tasks: Iterable[int] | None = None,
    *,
    split: Split = "train",
    fields: Sequence[Field] = ("image", "label"),
    transform: Transform | None = None,
) -> ImageDataset:
    """Tasks (default: all tasks of a finite stream) as one map-style dataset in memory.

    An item is a tuple of the fields: the image as a float tensor (C, H, W) in [0, 1], to which the transform
    is applied, the label, the factors (scale, angle, x, y), the index of the task.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(image_size=16, classes_per_task=2, factor_values=2)
        >>> dataset = to_torch(stream, range(3), fields=("image", "task"))
        >>> image, task = dataset[-1]
        >>> image.shape, int(task)
        (torch.Size([1, 16, 16]), 2)
    """
    numbers = _check(stream, tasks, split, fields)
    return ImageDataset([stream.task(k) for k in numbers], split, fields, transform)


def to_torch_tasks(
    stream: Stream,
    tasks: Iterable[int] | None = None,
    *,
    split: Split = "train",
    fields: Sequence[Field] = ("image", "label"),
    transform: Transform | None = None,
) -> Iterator[ImageDataset]:
    """One map-style dataset per task, generated lazily; the arguments are those of `to_torch`."""
    numbers = _check(stream, tasks, split, fields)
    return (to_torch(stream, [k], split=split, fields=fields, transform=transform) for k in numbers)


def to_torch_iterable(
    stream: Stream,
    tasks: Iterable[int] | None = None,
    *,
    split: Split = "train",
    fields: Sequence[Field] = ("image", "label"),
    transform: Transform | None = None,
    batch_size: int | None = None,
    epochs: int = 1,
    shuffle_seed: int | None = 0,
) -> StreamDataset:
    """Tasks in sequence as an iterable dataset (possibly infinite), with one task in memory at a time.

    Every pass is equal, and with several workers each image occurs exactly once. With `batch_size` the
    dataset yields batches: with `DataLoader(..., batch_size=None)` their order does not depend on the number
    of workers.

    Args, in addition to those of `to_torch`:
        batch_size: images per batch (the last of a task may be smaller); None for single items.
        epochs: passes over each task.
        shuffle_seed: shuffles the images of a task differently in each epoch; None keeps the order of the
            stream. Ordered tasks are never shuffled.
    """
    infinite = tasks is None and stream.n_tasks is None
    numbers = _check(stream, range(1) if infinite else tasks, split, fields)
    for name, value in (("batch_size", batch_size), ("epochs", epochs)):
        if value is not None and value < 1:
            raise BadInput(f"{name} is {value}; it must be 1 or more")
    indices = None if infinite else numbers
    return StreamDataset(stream, indices, split, fields, transform, batch_size, epochs, shuffle_seed)


def _check(
    stream: Stream, tasks: Iterable[int] | None, split: Split, fields: Sequence[Field]
) -> tuple[int, ...]:
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if not fields:
        raise BadInput(f"fields is {fields!r}; give at least one of {', '.join(FIELDS)}")
    for field in fields:
        if field not in FIELDS:
            raise unknown("field", field, FIELDS)
    return resolve_tasks(stream, tasks)
