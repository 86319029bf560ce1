"""Streams as Hugging Face datasets in memory."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from everlearn.errors import import_optional
from everlearn.streams.exports.manifest import PARTS
from everlearn.streams.exports.parquet import to_table
from everlearn.streams.exports.write import count_labels, resolve_tasks
from everlearn.streams.stream import Stream

if TYPE_CHECKING:
    from datasets import DatasetDict


def to_huggingface(stream: Stream, tasks: Iterable[int] | None = None) -> "DatasetDict":
    """Tasks as a `datasets.DatasetDict` of the non-empty parts: train, val, test, held_out, exemplars.

    The default is all tasks of a finite stream. The columns are image, label, task and the factors (null if
    unknown), as in a Parquet export, which is preferable for data that does not fit in memory.
    """
    import_optional("datasets", "pip install datasets")
    import pyarrow as pa
    from datasets import Dataset, DatasetDict
    from datasets.table import InMemoryTable

    numbers = resolve_tasks(stream, tasks)
    n_labels = count_labels(stream, numbers)
    loaded = [stream.task(k) for k in numbers]
    splits = DatasetDict()
    for part in PARTS:
        table = pa.concat_tables([to_table(getattr(task, part), task.index, n_labels) for task in loaded])
        if len(table):
            splits[part] = Dataset(InMemoryTable(table))
    return splits
