"""The editable memory: images of classes, to be added, looked at, renamed and erased by hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.memory.base import State, open_state, save_state
from everlearn.memory.table import LabelledRows
from everlearn.rng import IntArray
from everlearn.streams.stream import Batch, Images

KIND = "exemplars"
MAX_NAME = 200


@dataclass(frozen=True)
class Exemplar:
    """One remembered image in a listing.

    Attributes:
        label: the class it stands for.
        which: its number among the images of that class, oldest first.
        name: what people call the class.
        row: where it is now in `images`.
    """

    label: int
    which: int
    name: str
    row: int


class ExemplarMemory:
    """One image per class, or several, that anybody may edit at any time.

    A class is its label; where its images lie is not, and changes as others are erased. Every edit costs
    O(images of the classes it concerns) however much is remembered, and raises `version`. What is
    forgotten is overwritten at once, and missing from every file saved afterwards.

    Example:
        >>> memory = ExemplarMemory()
        >>> memory.add(Batch(np.zeros((2, 8, 8), np.uint8), np.array([3, 7])))
        >>> memory.rename(7, "sandal")
        >>> memory.forget(3)
        1
        >>> memory.exemplars()
        [Exemplar(label=7, which=0, name='sandal', row=0)]
    """

    def __init__(self) -> None:
        self._rows = LabelledRows()
        self._names: dict[int, str] = {}
        self._version = 0

    def __len__(self) -> int:
        """How many images there are."""
        return len(self._rows)

    def __contains__(self, label: int) -> bool:
        return self._rows.count(label) > 0

    def __repr__(self) -> str:
        return f"<ExemplarMemory: {len(self)} images of {self._rows.n_labels} classes>"

    @property
    def version(self) -> int:
        """A number that rises with every edit, so that others notice when what they derived is stale."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes of the images, their labels and names; a memory that was saved and loaded says the same."""
        return self._rows.used_bytes + sum(len(name.encode()) for name in self._names.values())

    @property
    def images(self) -> Images:
        """All images, (n, H, W) or (n, H, W, 3): read-only, not a copy, good until the next edit."""
        if "images" not in self._rows:
            raise BadInput("the memory has never held an image, so their size is unknown; add one first")
        return self._rows["images"]

    @property
    def labels(self) -> IntArray:
        """The label of each row of `images`, in the same way."""
        return self._rows["labels"] if "labels" in self._rows else np.zeros(0, np.int64)

    def classes(self) -> list[int]:
        """The labels that have an image, sorted."""
        return self._rows.labels()

    def images_of(self, label: int) -> Images:
        """Copies of the images of a class, oldest first."""
        self._check_known(label)
        found: Images = self.images[self._rows.of(label)]
        return found

    def name(self, label: int) -> str:
        """What people call a class; its label if nobody gave it a name."""
        return self._names.get(label, str(label))

    def exemplars(self) -> list[Exemplar]:
        """All that is remembered, by label and then by age."""
        return [
            Exemplar(label, which, self.name(label), row)
            for label in self.classes()
            for which, row in enumerate(self._rows.of(label).tolist())
        ]

    def changed_since(self, version: int) -> IntArray:
        """The rows of `images` that differ from what they were at an earlier version.

        With the new length this is all that a table derived from the images needs to follow.
        """
        if not len(self):
            return np.zeros(0, np.int64)
        return np.flatnonzero(self._rows["edited"] > version)

    def add(self, batch: Batch) -> None:
        """Remember images, next to those their classes may have already."""
        if not len(batch):
            return
        self._append(batch.images, np.asarray(batch.labels, np.int64), self._version + 1)
        self._version += 1

    def replace(self, label: int, images: Images, which: int | None = None) -> None:
        """Put new images in the place of all those of a class, or one in the place of its which-th."""
        self._check_images(images)
        rows = self._rows_of(label, which)
        if which is not None and len(images) != 1:
            raise BadInput(f"{len(images)} images cannot replace image {which} of label {label}; give one")
        self._version += 1
        if which is None:
            self._erase(rows)
            self._append(images, np.full(len(images), label, np.int64), self._version)
        else:
            self._rows.overwrite(rows, {"images": images, "edited": np.array([self._version])})

    def rename(self, label: int, name: str) -> None:
        """Let people call a class something else; its label stays."""
        self._check_known(label)
        if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
            raise BadInput(f"{name!r:.80} is no name for a class; give 1 to {MAX_NAME} printable characters")
        self._names[label] = name
        self._version += 1

    def relabel(self, label: int, new_label: int) -> None:
        """Give the images of a class to another label, after those it may have; a name moves along."""
        images = self.images_of(label)
        if label == new_label:
            return
        self._version += 1
        name = self._names.pop(label, None)
        if name is not None and new_label not in self:
            self._names[new_label] = name
        self._erase(self._rows.of(label))
        self._append(images, np.full(len(images), new_label, np.int64), self._version)

    def forget(self, label: int, which: int | None = None) -> int:
        """Erase a class, or only its which-th image, beyond recovery.

        Returns:
            How many images were erased.
        """
        rows = self._rows_of(label, which)
        self._version += 1
        self._erase(rows)
        if label not in self:
            self._names.pop(label, None)
        return len(rows)

    def trim(self) -> None:
        """Give back the room kept for images to come."""
        self._rows.trim()

    def state(self) -> State:
        """All of it, as arrays and plain facts."""
        names = {str(label): name for label, name in sorted(self._names.items())}
        return State(arrays=self._rows.state(), facts={"version": self._version, "names": names})

    def load(self, state: State) -> None:
        """Become what `state` described."""
        rows = LabelledRows()
        try:
            rows.load(state["arrays"])
            names = {int(label): str(name) for label, name in state["facts"]["names"].items()}
            version = int(state["facts"]["version"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"this is not the state of an exemplar memory ({error}); it cannot be loaded"
            ) from None
        self._rows, self._names, self._version = rows, names, version

    def save(self, path: str | Path) -> None:
        """Write it all to one file; an older file of that name is replaced whole or not at all."""
        save_state(path, KIND, self.state())

    @classmethod
    def open(cls, path: str | Path) -> "ExemplarMemory":
        """The memory that was saved in a file."""
        memory = cls()
        memory.load(open_state(path, KIND))
        return memory

    def _append(self, images: Images, labels: IntArray, version: int) -> None:
        self._check_images(images)
        edited = np.full(len(labels), version, np.int64)
        self._rows.append({"images": images, "labels": labels, "edited": edited})

    def _erase(self, rows: IntArray) -> None:
        holes, _ = self._rows.remove(rows)
        self._rows.overwrite(holes, {"edited": np.full(len(holes), self._version, np.int64)})

    def _rows_of(self, label: int, which: int | None) -> IntArray:
        self._check_known(label)
        rows = self._rows.of(label)
        if which is None:
            return rows
        if not 0 <= which < len(rows):
            raise BadInput(f"label {label} has no image {which}; its images are 0 to {len(rows) - 1}")
        return rows[which : which + 1]

    def _check_known(self, label: int) -> None:
        if label not in self:
            raise BadInput(
                f"nothing is remembered of label {label}; `classes()` tells which labels there are"
            )

    def _check_images(self, images: Images) -> None:
        if images.dtype != np.uint8 or images.ndim not in (3, 4) or not len(images):
            given = f"shape {images.shape} of {images.dtype}"
            raise BadInput(
                f"images have {given}; they must be uint8, (n, H, W) or (n, H, W, 3), n at least 1"
            )
        if "images" in self._rows and images.shape[1:] != self.images.shape[1:]:
            raise BadInput(f"images are {images.shape[1:]}; this memory holds {self.images.shape[1:]}")
