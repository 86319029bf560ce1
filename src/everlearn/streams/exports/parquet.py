"""Parquet files with the feature types of Hugging Face datasets, written with pyarrow."""

import io
import json
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.errors import import_optional
from everlearn.streams.exports import codec
from everlearn.streams.exports.codec import FACTOR_COLUMNS, PartKey, Reader
from everlearn.streams.exports.manifest import PartRecord
from everlearn.streams.stream import Batch

if TYPE_CHECKING:
    import pyarrow as pa


MAX_CLASS_NAMES = 10_000
"""Largest number of class names stored in each file; above it, labels are plain integers."""
ROWS_PER_GROUP = 1000


class Parquet(codec.Codec):
    """`datasets.load_dataset("out")` returns all splits with typed images and labels."""

    suffix = ".parquet"

    def __init__(self) -> None:
        import_optional("pyarrow", "pip install 'everlearn[export]'")

    def encode(self, batch: Batch, key: PartKey, n_labels: int) -> Iterator[tuple[str, bytes]]:
        from pyarrow import parquet

        buffer = io.BytesIO()
        parquet.write_table(to_table(batch, key.task, n_labels), buffer, row_group_size=ROWS_PER_GROUP)
        yield f"{key.part}{self.suffix}", buffer.getvalue()

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
        import pyarrow as pa
        from pyarrow import parquet

        file = parquet.ParquetFile(pa.BufferReader(data))
        if file.metadata.num_rows != part.rows:
            raise ValueError("the table has another length")
        images = np.empty((part.rows, *part.image_shape), np.uint8)
        groups = file.iter_batches(ROWS_PER_GROUP, columns=["image"])
        columns = (group.column("image").field("bytes") for group in groups)
        for row, image in enumerate(chain.from_iterable(columns)):
            images[row] = codec.from_png(image.as_py(), part.image_shape)
        names = ["label", "task", *(FACTOR_COLUMNS if part.factors else ())]
        table = file.read(columns=names)
        return codec.from_columns(images, {name: table[name].to_numpy() for name in names}, part)


def to_table(batch: Batch, task: int, n_labels: int) -> "pa.Table":
    """A batch as an Arrow table with Hugging Face feature types.

    All tables have the same columns, as Hugging Face requires of all splits; unknown factors are null.
    """
    import pyarrow as pa

    images = pa.array([codec.to_png(image) for image in batch.images], pa.binary())
    paths = pa.nulls(len(batch), pa.string())
    columns = codec.to_columns(batch, task)
    table = {"image": pa.StructArray.from_arrays([images, paths], ["bytes", "path"])}
    table |= {name: pa.array(columns[name], pa.int64()) for name in ("label", "task")}
    unknown = pa.nulls(len(batch), pa.float64())
    for name in FACTOR_COLUMNS:
        table[name] = pa.array(columns[name], pa.float64()) if name in columns else unknown
    features = json.dumps({"info": {"features": _features(n_labels)}})
    return pa.table(table).replace_schema_metadata({"huggingface": features})


def _features(n_labels: int) -> dict[str, Any]:
    integer, real = ({"dtype": dtype, "_type": "Value"} for dtype in ("int64", "float64"))
    label: dict[str, Any] = integer
    if n_labels <= MAX_CLASS_NAMES:
        label = {"names": [str(label) for label in range(n_labels)], "_type": "ClassLabel"}
    factors = dict.fromkeys(FACTOR_COLUMNS, real)
    return {"image": {"_type": "Image"}, "label": label, "task": integer, **factors}
