"""Numpy archives: one array of images and one per column."""

import io
import zipfile
from collections.abc import Iterator

import numpy as np

from everlearn.streams.batch import Batch
from everlearn.streams.exports.codec import Place, Reader
from everlearn.streams.exports.columns import from_columns, to_columns
from everlearn.streams.exports.manifest import PartRecord

EPOCH = (1980, 1, 1, 0, 0, 0)


class Npz:
    """`np.load("task-000000/train.npz")["images"]`."""

    suffix = ".npz"

    def encode(self, batch: Batch, place: Place, n_labels: int) -> Iterator[tuple[str, bytes]]:
        """One archive; written by hand because its bytes must not depend on the time of day."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, array in {"images": batch.images, **to_columns(batch, place.task)}.items():
                member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
                member.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(member, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        yield f"{place.part}{self.suffix}", buffer.getvalue()

    def decode(self, data: bytes, part: PartRecord, place: Place, read: Reader) -> Batch:
        """The arrays of the archive, after a look at how large they claim to be."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > part.nbytes:
                raise ValueError("an archive larger than what it should hold")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
        return from_columns(columns.pop("images"), columns, part)
