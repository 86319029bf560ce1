"""Streams as Hugging Face data sets in memory."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from everlearn.errors import import_optional
from everlearn.streams.exports.manifest import PARTS
from everlearn.streams.exports.parquet import to_table
from everlearn.streams.exports.write import chosen_tasks, count_labels
from everlearn.streams.stream import Stream

if TYPE_CHECKING:
    from datasets import DatasetDict


def to_huggingface(stream: Stream, tasks: Iterable[int] | None = None) -> "DatasetDict":
    """Some tasks as a `datasets.DatasetDict`: train, val, test, held_out, exemplars, those that have images.

    The columns are image, label, task, and the factors (null where nobody knows them), the same as in an
    export to Parquet, which is the better way for more than fits in memory.

    Args:
        stream: any stream.
        tasks: which tasks; all, if the stream has an end.
    """
    import_optional("datasets", "pip install datasets")
    import pyarrow as pa
    from datasets import Dataset, DatasetDict
    from datasets.table import InMemoryTable

    numbers = chosen_tasks(stream, tasks)
    n_labels = count_labels(stream, numbers)
    drawn = [stream.task(k) for k in numbers]
    found = DatasetDict()
    for part in PARTS:
        table = pa.concat_tables([to_table(getattr(task, part), task.index, n_labels) for task in drawn])
        if len(table):
            found[part] = Dataset(InMemoryTable(table))
    return found
