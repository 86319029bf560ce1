"""Streams as PyTorch data sets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from everlearn.errors import BadInput, unknown
from everlearn.streams.exports.choose import chosen_tasks
from everlearn.streams.exports.extras import need
from everlearn.streams.stream import Stream
from everlearn.streams.task import SPLITS, Split

if TYPE_CHECKING:
    import torch

    from everlearn.streams.adapters.pytorch_datasets import ImageDataset, StreamDataset

Field = Literal["image", "label", "factors", "task"]
FIELDS: tuple[Field, ...] = ("image", "label", "factors", "task")
Transform = Callable[["torch.Tensor"], Any]


def to_torch(
    stream: Stream,
    tasks: Iterable[int] | None = None,
    *,
    split: Split = "train",
    fields: Sequence[Field] = ("image", "label"),
    transform: Transform | None = None,
) -> "ImageDataset":
    """Some tasks as one map-style data set, drawn now and kept in memory.

    An item is a tuple of the fields: the image as a float tensor (channels, height, width) in 0..1, the
    label, the factors (scale, angle, x, y), the number of the task.

    Args:
        stream: any stream.
        tasks: which tasks; all, if the stream has an end.
        split: which images of them.
        fields: what an item consists of.
        transform: applied to each image.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(image_size=16, classes_per_task=2, factor_values=2)
        >>> dataset = to_torch(stream, range(3), fields=("image", "task"))
        >>> image, task = dataset[-1]
        >>> image.shape, int(task)
        (torch.Size([1, 16, 16]), 2)
    """
    numbers = _check(stream, tasks, split, fields)
    from everlearn.streams.adapters.pytorch_datasets import ImageDataset

    return ImageDataset([stream.task(k) for k in numbers], split, fields, transform)


def to_torch_tasks(
    stream: Stream,
    tasks: Iterable[int] | None = None,
    *,
    split: Split = "train",
    fields: Sequence[Field] = ("image", "label"),
    transform: Transform | None = None,
) -> Iterator["ImageDataset"]:
    """One map-style data set per task, drawn when its turn comes; the arguments are those of `to_torch`."""
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
) -> "StreamDataset":
    """Task after task, endlessly if need be, with one task in memory at a time.

    Every pass is the same as the first, and with several workers each image still comes exactly once. With
    `batch_size` the data set makes the batches itself: given to `DataLoader(..., batch_size=None)` they come
    in the same order whatever the number of workers.

    Args:
        stream: any stream.
        tasks: which tasks, in increasing order; all of them if not said.
        split: which images of them.
        fields: what an item consists of, as for `to_torch`.
        transform: applied to each image, or to each batch of images.
        batch_size: images in a batch (the last of a task may be smaller); None for single items.
        epochs: passes over each task before the next begins.
        shuffle_seed: gives the order of the images of a task, another in each epoch; None keeps the order of
            the stream. A task whose order matters is never shuffled.
    """
    endless = tasks is None and stream.n_tasks is None
    numbers = _check(stream, range(1) if endless else tasks, split, fields)
    for name, value in (("batch_size", batch_size), ("epochs", epochs)):
        if value is not None and value < 1:
            raise BadInput(f"{name} is {value}; it must be 1 or more")
    from everlearn.streams.adapters.pytorch_datasets import StreamDataset

    return StreamDataset(
        stream,
        None if endless else numbers,
        split=split,
        fields=fields,
        transform=transform,
        batch_size=batch_size,
        epochs=epochs,
        shuffle_seed=shuffle_seed,
    )


def _check(
    stream: Stream, tasks: Iterable[int] | None, split: Split, fields: Sequence[Field]
) -> tuple[int, ...]:
    need("torch", "pip install torch")
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    for field in fields:
        if field not in FIELDS:
            raise unknown("field", field, FIELDS)
    return chosen_tasks(stream, tasks)
