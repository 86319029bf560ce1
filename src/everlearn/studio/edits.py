"""What people do to a learner's memory, as acts that can be done again elsewhere."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from everlearn.errors import BadInput
from everlearn.memory import ExemplarMemory
from everlearn.runs.events import Act
from everlearn.streams import Batch
from everlearn.streams.batch import Images


@dataclass(frozen=True, eq=False)
class Add:
    """Remember a picture, of a class that is new or known.

    Attributes:
        picture: (H, W) or (H, W, 3).
        label: the class it shows; one that nobody has if not said.
        name: what people call the class.
        is_new: whether the class must not be known yet.
    """

    act: ClassVar[Act] = "add"
    picture: Images
    label: int | None = None
    name: str | None = None
    is_new: bool = False

    def settled(self, memory: ExemplarMemory) -> "Add":
        """The same act with its label chosen, so that doing it again means the same class."""
        if self.label is not None:
            return self
        return replace(self, label=max(memory.classes(), default=-1) + 1, is_new=True)

    def apply(self, memory: ExemplarMemory) -> int:
        """Do it, and say to which label."""
        if self.label is None:
            return self.settled(memory).apply(memory)
        if self.is_new and self.label in memory:
            raise BadInput(
                f"label {self.label} was taken by another class meanwhile; undo this and add again"
            )
        for each in (ExemplarMemory(), memory):  # a name that is refused must leave nothing behind
            each.add(Batch(self.picture[None], np.array([self.label])))
            if self.name is not None:
                each.rename(self.label, self.name)
        return self.label


@dataclass(frozen=True)
class Rename:
    """Let people call a class something else."""

    act: ClassVar[Act] = "rename"
    label: int
    name: str

    def settled(self, memory: ExemplarMemory) -> "Rename":
        """The act itself: it names its class already."""
        return self

    def apply(self, memory: ExemplarMemory) -> int:
        """Do it, and say to which label."""
        memory.rename(self.label, self.name)
        return self.label


@dataclass(frozen=True)
class Forget:
    """Erase a class."""

    act: ClassVar[Act] = "forget"
    label: int

    def settled(self, memory: ExemplarMemory) -> "Forget":
        """The act itself: it names its class already."""
        return self

    def apply(self, memory: ExemplarMemory) -> int:
        """Do it, and say to which label."""
        memory.forget(self.label)
        return self.label


Edit = Add | Rename | Forget
