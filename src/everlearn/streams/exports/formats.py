"""The formats npz, PNG and WebDataset, and the registry of formats."""

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from everlearn.files import sha256
from everlearn.registry import Registry
from everlearn.streams.exports.codec import (
    Codec,
    PartKey,
    Reader,
    from_columns,
    from_png,
    from_rows,
    to_columns,
    to_png,
    to_rows,
)
from everlearn.streams.exports.manifest import PartRecord
from everlearn.streams.stream import Batch

EPOCH = (1980, 1, 1, 0, 0, 0)


class _Archive(zipfile.ZipFile):
    """A zip file in memory that is discarded on an error.

    `ZipFile` closes itself in `__exit__` and `__del__`, and raises ValueError if a member is still open. That
    error would replace an interrupt while a member is written.
    """

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
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
        rows, table = to_rows(batch, key.task), io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["file", *rows[0], "sha256"])
        for i, row in enumerate(rows):
            name, image = f"{key.part}/{row['label']}/{i:06d}.png", to_png(batch.images[i])
            writer.writerow([name, *row.values(), sha256(image)])
            yield name, image
        yield f"{key.part}{self.suffix}", table.getvalue().encode()

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        if len(rows) != part.rows:
            raise ValueError("the table has another length")
        images = np.empty((len(rows), *part.image_shape), np.uint8)
        for i, row in enumerate(rows):
            image = read(f"{key.part}/{int(row['label'])}/{i:06d}.png", row["sha256"])
            images[i] = from_png(image, part.image_shape)
        return from_rows(images, rows, part)


class WebDataset(Codec):
    """`webdataset.WebDataset("out/task-{000000..000009}/train.tar")`.

    A shard is a tar file with a .cls, a .json and a .png member per image.
    """

    suffix = ".tar"

    def encode(self, batch: Batch, key: PartKey, n_labels: int) -> Iterator[tuple[str, bytes]]:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as shard:
            for i, row in enumerate(to_rows(batch, key.task)):
                contents = (str(row["label"]).encode(), json.dumps(row).encode(), to_png(batch.images[i]))
                for suffix, content in zip(("cls", "json", "png"), contents, strict=True):
                    # The name is unique when shards are mixed. A new TarInfo has no owner and the time 0.
                    member = tarfile.TarInfo(f"{key.task:06d}-{i:06d}.{suffix}")
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
        yield f"{key.part}{self.suffix}", buffer.getvalue()

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
        images = np.empty((part.rows, *part.image_shape), np.uint8)
        rows: list[dict[str, Any]] = []
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as shard:
            for member in shard:
                file = shard.extractfile(member) if member.isreg() and not member.issparse() else None
                if file is None or member.size > len(data):
                    raise ValueError(f"the shard has an unexpected member {member.name!r}")
                if member.name.endswith(".json"):
                    rows.append(json.loads(file.read()))
                elif member.name.endswith(".png"):
                    images[len(rows) - 1] = from_png(file.read(), part.image_shape)
        if len(rows) != part.rows:
            raise ValueError("the shard has another length")
        return from_rows(images, rows, part)


FORMATS = Registry(
    kind="format",
    group="everlearn.formats",
    builtin={
        "npz": f"{__name__}:Npz",
        "png": f"{__name__}:Png",
        "parquet": "everlearn.streams.exports.parquet:Parquet",
        "webdataset": f"{__name__}:WebDataset",
    },
    expected="a class with suffix, encode and decode, as everlearn.streams.exports.Codec",
    accepts=lambda component: (
        isinstance(component, type)
        and all(hasattr(component, name) for name in ("suffix", "encode", "decode"))
    ),
)
"""Export formats by name: those of the package, of installed packages, and any by import string or file."""


def codec(name: str) -> Codec:
    """The codec of a format."""
    made: Codec = FORMATS.get(name)()
    return made
