"""What a file format has to offer to be exported to and loaded from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from everlearn.streams.batch import Batch
from everlearn.streams.exports.manifest import PartName, PartRecord

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
