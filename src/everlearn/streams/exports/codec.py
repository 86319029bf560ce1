"""Images as PNG files in memory."""

import io
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.streams.exports.manifest import PartName, PartRecord
from everlearn.streams.stream import Batch, Images

Reader = Callable[[str, str], bytes]


@dataclass(frozen=True)
class Place:
    """Where a batch belongs in an export.

    Attributes:
        task: number of its task.
        part: the split, or "exemplars".
    """

    task: int
    part: PartName


class Codec(Protocol):
    """A way to write images and their ground truth into files; never asked for an empty batch."""

    @property
    def suffix(self) -> str:
        """How the name of a part's own file ends; it is `part + suffix` in the folder of the task."""

    def encode(self, batch: Batch, place: Place, n_labels: int) -> Iterator[tuple[str, bytes]]:
        """The files of a part, each with its name in the folder of the task; the part's own file last.

        Args:
            batch: at least one image.
            place: where it belongs.
            n_labels: one more than the largest label of all exported tasks.
        """

    def decode(self, data: bytes, part: PartRecord, place: Place, read: Reader) -> Batch:
        """The batch in the part's own file.

        Args:
            data: content of the file, whose checksum is right.
            part: what it must hold; nothing larger may be unpacked.
            place: where it lies.
            read: gives the content of a further file by its name and checksum.
        """


COLOURS = ("red", "green", "blue")
FACTOR_COLUMNS = (*FACTOR_NAMES, *COLOURS)

Columns = dict[str, npt.NDArray[Any]]


def to_columns(batch: Batch, task: int) -> Columns:
    """Label, task and, where known, factors: one array each, one value per image.

    The task is always told, because in an export all tasks may be read together; whether a learner may
    know it stands in the manifest.
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
    """The batch that `to_columns` was given."""
    return Batch(
        images,
        np.asarray(columns["label"], np.int64),
        _factors(columns) if part.factors else None,
        np.asarray(columns["task"], np.int64) if part.tasks else None,
    )


def empty(part: PartRecord) -> Batch:
    """The batch of a part without images."""
    nothing: list[float] = []
    columns = dict.fromkeys(("label", "task", *FACTOR_COLUMNS), nothing)
    return from_columns(np.zeros((0, *part.image_shape), np.uint8), columns, part)


def _factors(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> Factors:
    values = {name: np.asarray(columns[name], np.float64) for name in FACTOR_COLUMNS}
    colour = np.stack([values.pop(name) for name in COLOURS], axis=1)
    return Factors(**values, colour=colour)


SIGNATURE = b"\x89PNG\r\n\x1a\n"


def to_png(image: Images) -> bytes:
    """One (H, W) or (H, W, 3) image as the bytes of a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def from_png(data: bytes, shape: tuple[int, ...]) -> Images:
    """The image in the bytes of a PNG file, which must have the expected shape.

    The size is compared before anything is unpacked, so an image cannot take more memory than expected.
    """
    width, height = struct.unpack(">II", data[16:24])
    if not data.startswith(SIGNATURE) or (height, width) != shape[:2]:
        raise ValueError(f"not a PNG image of {shape[1]} x {shape[0]} pixels")
    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        if image.mode != ("RGB" if len(shape) == 3 else "L"):
            raise ValueError(f"an image of mode {image.mode}")
        return np.array(image)
