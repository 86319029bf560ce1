"""Sessions: loaded learners of records, with edits of their exemplar memory that are not saved yet."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.evaluation.samples import predict
from everlearn.files import lock_holder
from everlearn.learners import Learner
from everlearn.learners.capabilities import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs import Record
from everlearn.runs.events import MemoryAction, MemoryEdited
from everlearn.runs.memory_edit import ClassNames, edit_memory, load_run
from everlearn.streams import Batch
from everlearn.streams.stream import Images
from everlearn.studio.security import Conflict, NotFound

N_EVAL_IMAGES = 300
"""Test images for the accuracy before and after edits."""
MAX_IDLE_SESSIONS = 3


@dataclass(frozen=True, eq=False)
class ClassEdit:
    """An edit of one class: add it with one exemplar, rename it, or forget it."""

    action: MemoryAction
    label: int  # of the class; a new label to add a class
    name: str | None = None  # display name to give it
    image: Images | None = None  # exemplar to add, (H, W) or (H, W, 3)

    def apply(self, memory: ExemplarMemory) -> int:
        """Apply the edit; returns the label."""
        if self.action == "forget":
            memory.forget(self.label)
        elif self.image is None:
            memory.rename(self.label, self.name or "")
        elif self.label in memory:
            raise BadInput(f"label {self.label} was given to another class meanwhile; undo and add again")
        else:
            for each in (ExemplarMemory(), memory):  # first to a copy: an invalid name must change nothing
                each.add(Batch(self.image[None], np.array([self.label])))
                if self.name is not None:
                    each.rename(self.label, self.name)
        return self.label


class Session:
    """The learner of a record at its newest checkpoint, with edits that are not saved yet.

    The edits of all clients form one sequence, so that no client overwrites an edit of another. Undo loads
    the saved state and applies all edits but the last ones; saving applies all edits to the current record.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.edits: list[ClassEdit] = []
        self.version = 0
        self._changed_in: dict[int, int] = {}
        self._load_record()

    @property
    def learner(self) -> Learner:
        """The learner, with the edits."""
        return self.run.learner

    @property
    def memory(self) -> ExemplarMemory:
        """Its memory, with the edits."""
        return editable_memory(self.learner)

    def class_name(self, label: int) -> str:
        """The name of a class, given by a user or by the stream."""
        return self._names.name(label)

    def image(self, label: int, index: int) -> Images:
        """A stored image of a class."""
        if label not in self.memory or index >= len(images := self.memory.images_of(label)):
            raise NotFound(f"there is no image {index} of label {label}; it may have been erased")
        return images[index]

    def next_label(self) -> int:
        """The label for a new class."""
        return max(self.memory.classes(), default=-1) + 1

    def refresh(self) -> None:
        """Load the record again if it has a newer checkpoint, and apply the edits to it."""
        if self._newest_checkpoint() != self._checkpoint:
            self._load_record()
            self.version += 1
            self._restore(self.edits)

    def edit(self, edit: ClassEdit, version: int) -> None:
        """Apply an edit; raises `Conflict` if its class has changed since the client's `version`."""
        if edit.action != "add" and self._changed_in.get(edit.label, 0) > version:
            raise Conflict(f"label {edit.label} was changed meanwhile; check it and try again")
        edit.apply(self.memory)
        self.edits.append(edit)
        self._mark_changed([edit])

    def undo(self, version: int, n_edits: int = 1) -> None:
        """Undo the last edits; raises `Conflict` unless the client's version is current."""
        if not self.edits:
            raise Conflict("there is no unsaved edit to undo")
        if version != self.version:
            raise Conflict("the memory was changed meanwhile; check it and try again")
        undone = self.edits[-n_edits:]
        self._restore(self.edits[:-n_edits])
        self._mark_changed(undone)

    def save(self) -> list[MemoryEdited]:
        """Apply the edits to the record, which must not be running; returns their events."""
        if lock_holder(self.record.folder) is not None:
            raise Conflict("this run is running; stop it, save, and resume it")
        self.refresh()  # an edit that does not apply any more is found before a file changes
        events = edit_memory(self.record, [(edit.action, edit.apply) for edit in self.edits])
        self.edits = []
        self._load_record()
        self.version += 1
        return events

    def accuracy(self) -> tuple[float, float, int]:
        """Accuracy without the edits and with them, and the number of test images."""
        n_tasks = self.run.n_tasks_done
        if not n_tasks:
            raise BadInput("this run has not finished a task yet, so there are no test images")
        sample = self.run.stream.eval_sample(n_tasks, N_EVAL_IMAGES)

        def accuracy() -> float:
            return float((predict(self.learner, sample, self.run.stream) == sample.labels).mean())

        after, edits = accuracy(), self.edits
        self._restore([])
        before = accuracy()
        self._restore(edits)
        return before, after, len(sample)

    def _mark_changed(self, edits: list[ClassEdit]) -> None:
        self.version += 1
        self._changed_in |= {edit.label: self.version for edit in edits}

    def _restore(self, edits: list[ClassEdit]) -> None:
        """Load the saved state and apply these edits."""
        self.learner.load(self._saved_state)
        self.edits = list(edits)
        for edit in edits:
            try:
                edit.apply(self.memory)
            except BadInput as error:
                raise Conflict(f"an unsaved edit does not apply any more: {error}") from error

    def _load_record(self) -> None:
        self._checkpoint = self._newest_checkpoint()
        self.run = load_run(self.record)
        self._saved_state = self.run.state()["learner"]
        self._names = ClassNames(self.run)

    def _newest_checkpoint(self) -> int:
        return max(self.record.checkpoints.numbers(), default=0)


class SessionCache:
    """The sessions in use, by record.

    The least recently used sessions are dropped, except those with unsaved edits or with a pending request.
    """

    def __init__(self) -> None:
        self._sessions: dict[Path, Session] = {}
        self._session_locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    @contextmanager
    def open(self, record: Record) -> Iterator[Session]:
        """The session of a record, up to date and locked for one request."""
        with self._lock:
            session_lock = self._session_locks.setdefault(record.folder, threading.Lock())
        with session_lock:
            with self._lock:
                session = self._sessions.pop(record.folder, None)
            session = session or Session(record)
            with self._lock:
                self._sessions[record.folder] = session
                self._drop_idle()
            session.refresh()
            yield session

    def drop(self, record: Record) -> None:
        """Drop the session of a record that is deleted, with its unsaved edits."""
        with self._lock:
            session_lock = self._session_locks.setdefault(record.folder, threading.Lock())
        with session_lock, self._lock:
            self._sessions.pop(record.folder, None)

    def _drop_idle(self) -> None:
        idle = [
            folder
            for folder, session in self._sessions.items()
            if not session.edits and not self._session_locks[folder].locked()
        ]
        for folder in idle[: max(0, len(self._sessions) - MAX_IDLE_SESSIONS)]:
            del self._sessions[folder]
