"""Learners as they were last saved, kept open for whoever looks at them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import editable_memory
from everlearn.files import lock_holder
from everlearn.learners import Learner
from everlearn.memory import ExemplarMemory
from everlearn.runs import Play, Record
from everlearn.runs.evaluate import answer
from everlearn.runs.events import Act, MemoryEdited
from everlearn.runs.memory_edit import edited, opened
from everlearn.streams import Batch
from everlearn.streams.stream import Images
from everlearn.studio.security import Conflict, NotThere


@dataclass(frozen=True, eq=False)
class Add:
    """Remember an image, of a class that is new or known.

    Attributes:
        image: (H, W) or (H, W, 3).
        label: the class it shows; one that nobody has if not said.
        name: what people call the class.
        is_new: whether the class must not be known yet.
    """

    act: ClassVar[Act] = "add"
    image: Images
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
            each.add(Batch(self.image[None], np.array([self.label])))
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


PROBE = 300
"""Test images on which accuracy before and after is told."""


class Draft:
    """The learner of a record as it would be with some edits; the record changes when they are saved.

    Edits are kept as acts, in one order for everybody. Undoing goes back to what is saved and does all but
    the last again; saving does them to the record as it is by then. So nobody's edit is lost to another's.

    Args:
        record: the record.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.edits: list[Edit] = []
        self.edition = 0
        self._touched: dict[int, int] = {}
        self._open()

    @property
    def learner(self) -> Learner:
        """The learner, with the edits."""
        return self._play.learner

    @property
    def memory(self) -> ExemplarMemory:
        """Its memory, with the edits."""
        return editable_memory(self.learner)

    def image(self, label: int, which: int) -> Images:
        """One of the images of a class."""
        if label not in self.memory or which >= len(images := self.memory.images_of(label)):
            raise NotThere(f"there is no image {which} of label {label}; it may have been forgotten")
        image: Images = images[which]
        return image

    def refresh(self) -> None:
        """Follow the record if it was played on or edited elsewhere."""
        if self._newest() != self._number:
            self._open()
            self.edition += 1
            self._redo(self.edits)

    def edit(self, edit: Edit, seen: int) -> int:
        """Do one more edit and give the label it was done to.

        Args:
            edit: what to do.
            seen: the edition that whoever asks was looking at; a class that changed since is not touched.
        """
        if edit.label is not None and self._touched.get(edit.label, 0) > seen:
            raise Conflict(f"somebody changed label {edit.label} meanwhile; look at it again")
        settled = edit.settled(self.memory)
        label = settled.apply(self.memory)
        self.edits.append(settled)
        self.edition += 1
        self._touched[label] = self.edition
        return label

    def undo(self, seen: int, n_edits: int = 1) -> None:
        """Take the last edits back, if whoever asks has seen them."""
        if not self.edits:
            raise Conflict("there is nothing to undo; what was saved stays")
        if seen != self.edition:
            raise Conflict("somebody changed something meanwhile; look at it again")
        kept, undone = self.edits[:-n_edits], self.edits[-n_edits:]
        self._redo(kept)
        self.edition += 1
        self._touched |= {each.label: self.edition for each in undone if each.label is not None}

    def save(self) -> list[MemoryEdited]:
        """Write the edits into the record, each as an event; a record that is playing is left alone."""
        if lock_holder(self.record.folder) is not None:
            raise Conflict("this run is playing; stop it, save, and let it go on")
        self.refresh()  # an edit that no longer fits is found before anything is touched
        events = edited(self.record, [(edit.act, edit.apply) for edit in self.edits])
        self.edits = []
        self._open()
        self.edition += 1
        return events

    def accuracy(self) -> tuple[float, float, int]:
        """The share of right answers before the edits and with them, and on how many images."""
        n_tasks = self._play.position.task
        if not n_tasks:
            raise BadInput("this run has not finished a task yet, so there is nothing to ask about")
        probe = self._play.stream.eval_sample(n_tasks, PROBE)

        def share() -> float:
            return float((answer(self.learner, self._play.stream, probe) == probe.labels).mean())

        after = share()
        with self._without_edits():
            return share(), after, len(probe)

    @contextmanager
    def _without_edits(self) -> Iterator[None]:
        edits = self.edits
        self._redo([])
        yield
        self._redo(edits)

    def _redo(self, edits: list[Edit]) -> None:
        """Be as if these edits, and no others, had been made to what is saved."""
        self.learner.load(self._saved)
        self.edits = list(edits)
        for edit in edits:
            try:
                edit.apply(self.memory)
            except BadInput as error:
                raise Conflict(f"an edit does not fit what is saved any more: {error}") from error

    def _open(self) -> None:
        """Load the newest checkpoint that can be used."""
        self._number = self._newest()
        self._play = opened(self.record)
        editable_memory(self.learner)
        self._saved = self._play.state()["learner"]

    def _newest(self) -> int:
        return max(self.record.checkpoints.numbers(), default=0)


class Drafts:
    """The drafts that are in use, by record.

    A draft without edits is let go of when others are asked for; one with edits, or in use, is kept.
    """

    KEPT = 3

    def __init__(self) -> None:
        self._drafts: dict[Path, Draft] = {}
        self._turns: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    @contextmanager
    def of(self, record: Record) -> Iterator[Draft]:
        """The draft of a record, for one at a time, up to date with the record."""
        with self._lock:
            turn = self._turns.setdefault(record.folder, threading.Lock())
        with turn:
            with self._lock:
                draft = self._drafts.pop(record.folder, None)
            draft = draft or Draft(record)
            with self._lock:
                self._drafts[record.folder] = draft
                self._let_go()
            draft.refresh()
            yield draft

    def _let_go(self) -> None:
        """Forget the drafts that were longest without a visitor; never one whose turn somebody has."""
        idle = [key for key, each in self._drafts.items() if not each.edits and not self._turns[key].locked()]
        for key in idle[: max(0, len(self._drafts) - self.KEPT)]:
            del self._drafts[key]


class Models:
    """The few learners that were looked at last; one that was played on is opened again."""

    KEPT = 2

    def __init__(self) -> None:
        self._plays: dict[Path, tuple[int, Play]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def of(self, record: Record) -> Iterator[Play]:
        """The run of a record at its newest checkpoint, for one visitor at a time."""
        with self._lock:
            newest = max(record.checkpoints.numbers(), default=0)
            number, play = self._plays.pop(record.folder, (0, None))
            if play is None or number != newest:
                play = opened(record)
            self._plays[record.folder] = (newest, play)
            for forgotten in list(self._plays)[: -self.KEPT]:
                del self._plays[forgotten]
            yield play
