"""WebDataset shards: tar files with a .png, a .cls and a .json member per image."""

import io
import json
import tarfile
from collections.abc import Iterator

import numpy as np

from everlearn.streams.exports.codec import Codec, PartKey, Reader, from_columns, from_png, to_columns, to_png
from everlearn.streams.exports.manifest import PartRecord
from everlearn.streams.stream import Batch


class WebDataset(Codec):
    """`webdataset.WebDataset("out/task-{000000..000009}/train.tar")`."""

    suffix = ".tar"

    def encode(self, batch: Batch, key: PartKey, n_labels: int) -> Iterator[tuple[str, bytes]]:
        columns = {name: column.tolist() for name, column in to_columns(batch, key.task).items()}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as shard:
            for row, values in enumerate(zip(*columns.values(), strict=True)):
                known = dict(zip(columns, values, strict=True))
                name = f"{key.task:06d}-{row:06d}"  # unique when shards are mixed
                _add(shard, f"{name}.cls", str(known["label"]).encode())
                _add(shard, f"{name}.json", json.dumps(known).encode())
                _add(shard, f"{name}.png", to_png(batch.images[row]))
        yield f"{key.part}{self.suffix}", buffer.getvalue()

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
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
            raise ValueError("the shard has another length")
        return from_columns(images, {name: [row[name] for row in rows] for name in rows[0]}, part)


def _add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    # A new TarInfo has no owner and the time 0, so equal content gives equal bytes.
    member = tarfile.TarInfo(name)
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))


def _content(shard: tarfile.TarFile, member: tarfile.TarInfo, limit: int) -> bytes:
    file = shard.extractfile(member) if member.isreg() and not member.issparse() else None
    if file is None or member.size > limit:
        raise ValueError(f"the shard has an unexpected member {member.name!r}")
    return file.read()
