"""Tar files as the webdataset package reads them: for each image a .png, a .cls and a .json."""

import io
import json
import tarfile
from collections.abc import Iterator

import numpy as np

from everlearn.streams.exports.codec import Place, Reader, from_columns, from_png, to_columns, to_png
from everlearn.streams.exports.manifest import PartRecord
from everlearn.streams.stream import Batch


class WebDataset:
    """`webdataset.WebDataset("out/task-{000000..000009}/train.tar")`."""

    suffix = ".tar"

    def encode(self, batch: Batch, place: Place, n_labels: int) -> Iterator[tuple[str, bytes]]:
        """One shard; keys carry the task, so that they stay unique when shards are mixed."""
        columns = {name: column.tolist() for name, column in to_columns(batch, place.task).items()}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as shard:
            for row, values in enumerate(zip(*columns.values(), strict=True)):
                known = dict(zip(columns, values, strict=True))
                key = f"{place.task:06d}-{row:06d}"
                _add(shard, f"{key}.cls", str(known["label"]).encode())
                _add(shard, f"{key}.json", json.dumps(known).encode())
                _add(shard, f"{key}.png", to_png(batch.images[row]))
        yield f"{place.part}{self.suffix}", buffer.getvalue()

    def decode(self, data: bytes, part: PartRecord, place: Place, read: Reader) -> Batch:
        """The images of a shard, read in memory: nothing is ever unpacked to the disk."""
        images = np.empty((part.rows, *part.image_shape), np.uint8)
        rows: list[dict[str, float]] = []
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as shard:
            for member in shard:
                content = _content(shard, member, len(data))
                if member.name.endswith(".json"):
                    rows.append(json.loads(content))
                elif member.name.endswith(".png"):
                    images[len(rows) - 1] = from_png(content, part.image_shape)
        if len(rows) != part.rows:
            raise ValueError("a shard of another length")
        return from_columns(images, {name: [row[name] for row in rows] for name in rows[0]}, part)


def _add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    # A fresh TarInfo belongs to nobody and dates from 1970, so equal content gives equal bytes.
    member = tarfile.TarInfo(name)
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))


def _content(shard: tarfile.TarFile, member: tarfile.TarInfo, limit: int) -> bytes:
    file = shard.extractfile(member) if member.isreg() and not member.issparse() else None
    if file is None or member.size > limit:
        raise ValueError(f"a shard with an odd member {member.name!r}")
    return file.read()
