"""The formats npz and PNG, and the registry of formats."""

import csv
import io
import zipfile
from collections.abc import Iterator
from types import TracebackType

import numpy as np

from everlearn.errors import unknown
from everlearn.files import sha256
from everlearn.streams.exports.codec import Codec, PartKey, Reader, from_columns, from_png, to_columns, to_png
from everlearn.streams.exports.manifest import PartRecord
from everlearn.streams.exports.parquet import Parquet
from everlearn.streams.exports.webdataset import WebDataset
from everlearn.streams.stream import Batch

EPOCH = (1980, 1, 1, 0, 0, 0)


class _Archive(zipfile.ZipFile):
    """A zip file in memory that is discarded on an error.

    `ZipFile` closes itself in `__exit__` and `__del__`, which raises ValueError if a member is still open. An
    interrupt while a member is written would be replaced by that error.
    """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def __del__(self) -> None:
        pass


class Npz(Codec):
    """`np.load("task-000000/train.npz")["images"]`."""

    suffix = ".npz"

    def encode(self, batch: Batch, key: PartKey, n_labels: int) -> Iterator[tuple[str, bytes]]:
        # np.savez would store the time, and equal content must give equal bytes.
        buffer = io.BytesIO()
        with _Archive(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, array in {"images": batch.images, **to_columns(batch, key.task)}.items():
                member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
                member.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(member, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        yield f"{key.part}{self.suffix}", buffer.getvalue()

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > part.nbytes:
                raise ValueError("the archive is larger than its content should be")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
        return from_columns(columns.pop("images"), columns, part)


class Png(Codec):
    """`task-000000/train/7/000012.png` is image 12 of the split, with label 7."""

    suffix = ".csv"

    def encode(self, batch: Batch, key: PartKey, n_labels: int) -> Iterator[tuple[str, bytes]]:
        columns = {name: column.tolist() for name, column in to_columns(batch, key.task).items()}
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["file", *columns, "sha256"])
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            image = to_png(batch.images[row])
            name = _name(key, row, batch.labels[row])
            writer.writerow([name, *values, sha256(image)])
            yield name, image
        yield f"{key.part}{self.suffix}", table.getvalue().encode()

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        if len(rows) != part.rows:
            raise ValueError("the table has another length")
        images = np.empty((len(rows), *part.image_shape), np.uint8)
        for i, row in enumerate(rows):
            image = read(_name(key, i, int(row["label"])), row["sha256"])
            images[i] = from_png(image, part.image_shape)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return from_columns(images, columns, part)


def _name(key: PartKey, row: int, label: int) -> str:
    return f"{key.part}/{label}/{row:06d}.png"


_CODECS: dict[str, type[Codec]] = {"npz": Npz, "png": Png, "parquet": Parquet, "webdataset": WebDataset}

FORMATS = tuple(_CODECS)


def codec(name: str) -> Codec:
    """The codec of a format.

    Example:
        >>> codec("npz").suffix
        '.npz'
        >>> codec("parket")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: unknown format 'parket'; did you mean 'parquet'?
    """
    if name not in _CODECS:
        raise unknown("format", name, FORMATS)
    return _CODECS[name]()
