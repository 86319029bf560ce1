"""The interface of export formats, and conversions they share: columns and PNG images."""

import io
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.streams.exports.manifest import PartName, PartRecord
from everlearn.streams.stream import Batch, Images

Reader = Callable[[str, str], bytes]


class PartKey(NamedTuple):
    """The position of a batch in an export: the task, and the split or "exemplars"."""

    task: int
    part: PartName


class Codec(Protocol):
    """An export format: writes and reads non-empty batches of images with ground truth."""

    suffix: str
    """Suffix of the main file of a part, `part + suffix` in the folder of the task."""

    def encode(self, batch: Batch, key: PartKey, n_labels: int) -> Iterator[tuple[str, bytes]]:
        """Names (relative to the folder of the task) and contents of the files of a part; the main file last.

        `n_labels` is one more than the largest label of all exported tasks.
        """

    def decode(self, data: bytes, part: PartRecord, key: PartKey, read: Reader) -> Batch:
        """The batch in the verified main file of a part; must not unpack more than the size of the part.

        `read` reads another file by name and checksum.
        """


COLOURS = ("red", "green", "blue")
FACTOR_COLUMNS = (*FACTOR_NAMES, *COLOURS)

Columns = dict[str, npt.NDArray[Any]]


def to_columns(batch: Batch, task: int) -> Columns:
    """Arrays of labels, tasks and, if known, factors, one value per image.

    The task is always included; the manifest states whether it is available to learners.
    """
    tasks = np.full(len(batch), task) if batch.tasks is None else batch.tasks
    columns: Columns = {"label": batch.labels, "task": tasks}
    if batch.factors is not None:
        columns |= {name: getattr(batch.factors, name) for name in FACTOR_NAMES}
        columns |= {name: batch.factors.colour[:, i] for i, name in enumerate(COLOURS)}
    return columns


def from_columns(
    images: Images, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]], part: PartRecord
) -> Batch:
    """The inverse of `to_columns`."""
    factors = None
    if part.factors:
        values = {name: np.asarray(columns[name], np.float64) for name in FACTOR_COLUMNS}
        colour = np.stack([values.pop(name) for name in COLOURS], axis=1)
        factors = Factors(**values, colour=colour)
    tasks = np.asarray(columns["task"], np.int64) if part.tasks else None
    return Batch(images, np.asarray(columns["label"], np.int64), factors, tasks)


def to_rows(batch: Batch, task: int) -> list[dict[str, Any]]:
    """The values of `to_columns`, one dictionary per image."""
    columns = to_columns(batch, task)
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def from_rows(images: Images, rows: Sequence[Mapping[str, Any]], part: PartRecord) -> Batch:
    """The inverse of `to_rows`."""
    return from_columns(images, {name: [row[name] for row in rows] for name in rows[0]}, part)


def empty(part: PartRecord) -> Batch:
    """The batch of a part without images."""
    columns: Columns = dict.fromkeys(("label", "task", *FACTOR_COLUMNS), np.zeros(0))
    return from_columns(np.zeros((0, *part.image_shape), np.uint8), columns, part)


SIGNATURE = b"\x89PNG\r\n\x1a\n"


def to_png(image: Images) -> bytes:
    """A PNG file of an image (H, W) or (H, W, 3)."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def from_png(data: bytes, shape: tuple[int, ...]) -> Images:
    """The image in a PNG file; its header is checked first, so that decoding needs no more memory."""
    width, height = struct.unpack(">II", data[16:24])
    if not data.startswith(SIGNATURE) or (height, width) != shape[:2]:
        raise ValueError(f"not a PNG image of {shape[1]} x {shape[0]} pixels")
    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        if image.mode != ("RGB" if len(shape) == 3 else "L"):
            raise ValueError(f"an image of mode {image.mode}")
        return np.array(image)
