"""Folders of PNG pictures, one sub-folder per label, with a table of the ground truth beside them."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from everlearn.files import sha256
from everlearn.streams.batch import Batch
from everlearn.streams.exports.codec import Place, Reader
from everlearn.streams.exports.columns import from_columns, to_columns
from everlearn.streams.exports.manifest import PartRecord
from everlearn.streams.exports.pictures import from_png, to_png


class Png:
    """`task-000000/train/7/000012.png`: image 12 of the split, which shows label 7."""

    suffix = ".csv"

    def encode(self, batch: Batch, place: Place, n_labels: int) -> Iterator[tuple[str, bytes]]:
        """The pictures, then the table that carries their checksums."""
        columns = {name: column.tolist() for name, column in to_columns(batch, place.task).items()}
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["file", *columns, "sha256"])
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            picture = to_png(batch.images[row])
            name = _name(place, row, batch.labels[row])
            writer.writerow([name, *values, sha256(picture)])
            yield name, picture
        yield f"{place.part}{self.suffix}", table.getvalue().encode()

    def decode(self, data: bytes, part: PartRecord, place: Place, read: Reader) -> Batch:
        """The pictures in the order of the table; their names follow from row and label alone."""
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        if len(rows) != part.rows:
            raise ValueError("a table of another length")
        images = np.empty((len(rows), *part.image_shape), np.uint8)
        for i, row in enumerate(rows):
            picture = read(_name(place, i, int(row["label"])), row["sha256"])
            images[i] = from_png(picture, part.image_shape)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return from_columns(images, columns, part)


def _name(place: Place, row: int, label: int) -> str:
    return f"{place.part}/{label}/{row:06d}.png"
