"""An editable memory of exemplar images."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.memory.base import State, open_state, save_state
from everlearn.memory.table import LabeledTable
from everlearn.rng import IntArray
from everlearn.streams.stream import Batch, Images

KIND = "exemplars"
MAX_NAME = 200


@dataclass(frozen=True)
class ExemplarInfo:
    """An exemplar in a listing.

    Example:
        >>> memory = ExemplarMemory()
        >>> memory.add(Batch(np.zeros((1, 8, 8), np.uint8), np.array([7])))
        >>> memory.exemplars()
        [ExemplarInfo(label=7, which=0, name='7', row=0)]
    """

    label: int  # its class
    which: int  # its number among the exemplars of the class, oldest first
    name: str  # name of the class
    row: int  # its current row in `images`


class ExemplarMemory:
    """One or more exemplar images per class, which can be edited at any time.

    A class is identified by its label; the rows of its images change as others are removed. Each edit costs
    O(images of the classes concerned), whatever the size of the memory, and increments `version`. Removed
    images are overwritten at once, and missing from every file saved afterwards.

    Example:
        >>> memory = ExemplarMemory()
        >>> memory.add(Batch(np.zeros((2, 8, 8), np.uint8), np.array([3, 7])))
        >>> memory.rename(7, "sandal")
        >>> memory.forget(3)
        1
        >>> memory.exemplars()
        [ExemplarInfo(label=7, which=0, name='sandal', row=0)]
    """

    def __init__(self) -> None:
        self._table = LabeledTable()
        self._names: dict[int, str] = {}
        self._version = 0

    def __len__(self) -> int:
        """Number of images."""
        return len(self._table)

    def __contains__(self, label: int) -> bool:
        return self._table.count(label) > 0

    def __repr__(self) -> str:
        return f"<ExemplarMemory: {len(self)} images of {self._table.n_labels} classes>"

    @property
    def version(self) -> int:
        """Number of edits; derived data of an older version are outdated."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes of images, labels and names."""
        return self._table.used_bytes + sum(len(name.encode()) for name in self._names.values())

    @property
    def images(self) -> Images:
        """All images, (n, H, W) or (n, H, W, 3); a read-only view, valid until the next edit."""
        if "images" not in self._table:
            raise BadInput("the memory is empty and has no image size yet; add an image first")
        return self._table["images"]

    @property
    def labels(self) -> IntArray:
        """The label of each row of `images`; a read-only view, valid until the next edit."""
        return self._table["labels"] if "labels" in self._table else np.zeros(0, np.int64)

    def classes(self) -> list[int]:
        """The labels, sorted."""
        return self._table.labels()

    def images_of(self, label: int) -> Images:
        """Copies of the images of a class, oldest first."""
        self._check_known(label)
        return self.images[self._table.rows_of(label)]

    def name(self, label: int) -> str:
        """The name of a class (default: its label)."""
        return self._names.get(label, str(label))

    def exemplars(self) -> list[ExemplarInfo]:
        """All exemplars, by label and then by age."""
        return [
            ExemplarInfo(label, which, self.name(label), row)
            for label in self.classes()
            for which, row in enumerate(self._table.rows_of(label).tolist())
        ]

    def changed_since(self, version: int) -> IntArray:
        """The rows of `images` that changed since an earlier version; other edits only removed rows."""
        if not len(self):
            return np.zeros(0, np.int64)
        return np.flatnonzero(self._table["edited"] > version)

    def add(self, batch: Batch) -> None:
        """Add images, to new or existing classes."""
        if not len(batch):
            return
        self._append(batch.images, np.asarray(batch.labels, np.int64), self._version + 1)
        self._version += 1

    def first_images(self, batch: Batch) -> Batch:
        """The first image of each class of a batch that has no exemplar yet."""
        labels, first = np.unique(batch.labels, return_index=True)
        return batch[np.sort(first[[label not in self for label in labels.tolist()]])]

    def replace(self, label: int, images: Images, which: int | None = None) -> None:
        """Replace all images of a class, or the one with number `which`."""
        self._check_images(images)
        rows = self._rows_of(label, which)
        if which is not None and len(images) != 1:
            raise BadInput(f"{len(images)} images cannot replace image {which} of label {label}; give one")
        self._version += 1
        if which is None:
            self._erase(rows)
            self._append(images, np.full(len(images), label, np.int64), self._version)
        else:
            self._table.overwrite(rows, {"images": images, "edited": np.array([self._version])})

    def rename(self, label: int, name: str) -> None:
        """Change the name of a class; its label stays."""
        self._check_known(label)
        if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
            raise BadInput(f"{name!r:.80} is no valid class name; give 1 to {MAX_NAME} printable characters")
        self._names[label] = name
        self._version += 1

    def forget(self, label: int, which: int | None = None) -> int:
        """Erase a class, or only its image number `which`; returns the number of erased images."""
        rows = self._rows_of(label, which)
        self._version += 1
        self._erase(rows)
        if label not in self:
            self._names.pop(label, None)
        return len(rows)

    def state(self) -> State:
        """Everything, as arrays and metadata."""
        names = {str(label): name for label, name in sorted(self._names.items())}
        return State(arrays=self._table.state(), metadata={"version": self._version, "names": names})

    def load(self, state: State) -> None:
        """Restore what `state` returned."""
        table = LabeledTable()
        try:
            table.load(state["arrays"])
            names = {int(label): str(name) for label, name in state["metadata"]["names"].items()}
            version = int(state["metadata"]["version"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"this is not the state of an exemplar memory ({error}); it cannot be loaded"
            ) from None
        self._table, self._names, self._version = table, names, version

    def save(self, path: str | Path) -> None:
        """Write the memory to one file, atomically."""
        save_state(path, KIND, self.state())

    @classmethod
    def open(cls, path: str | Path) -> "ExemplarMemory":
        """Read a saved memory."""
        memory = cls()
        memory.load(open_state(path, KIND))
        return memory

    def _append(self, images: Images, labels: IntArray, version: int) -> None:
        self._check_images(images)
        edited = np.full(len(labels), version, np.int64)
        self._table.append({"images": images, "labels": labels, "edited": edited})

    def _erase(self, rows: IntArray) -> None:
        gaps, _ = self._table.remove(rows)
        self._table.overwrite(gaps, {"edited": np.full(len(gaps), self._version, np.int64)})

    def _rows_of(self, label: int, which: int | None) -> IntArray:
        self._check_known(label)
        rows = self._table.rows_of(label)
        if which is None:
            return rows
        if not 0 <= which < len(rows):
            raise BadInput(f"label {label} has no image {which}; its images are 0 to {len(rows) - 1}")
        return rows[which : which + 1]

    def _check_known(self, label: int) -> None:
        if label not in self:
            raise BadInput(f"there is no exemplar of label {label}; `classes()` lists the labels")

    def _check_images(self, images: Images) -> None:
        if images.dtype != np.uint8 or images.ndim not in (3, 4) or not len(images):
            raise BadInput(
                f"images have shape {images.shape} of {images.dtype}; they must be uint8, (n, H, W) or "
                "(n, H, W, 3), n at least 1"
            )
        if "images" in self._table and images.shape[1:] != self.images.shape[1:]:
            raise BadInput(f"images are {images.shape[1:]}; this memory has {self.images.shape[1:]}")
