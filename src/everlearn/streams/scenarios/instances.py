"""New instances of known classes: the scenarios NI and NIC of CORe50 (Lomonaco and Maltoni, 2017)."""

from dataclasses import dataclass

import numpy as np

from everlearn.errors import BadInput
from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import SampleIndex, Scenario, SeenClasses
from everlearn.streams.source import HasSessions


@dataclass(kw_only=True, eq=False)
class NewInstances(Scenario):
    """NI: task k is session k of every class."""

    n_classes: int
    n_sessions: int

    def __post_init__(self) -> None:
        smallest = min(len(self.source.pool(c, "train")) for c in range(self.n_classes))
        if smallest < self.n_sessions:
            raise BadInput(f"a class has {smallest} training images, too few for {self.n_sessions} sessions")

    @property
    def n_tasks(self) -> int:
        return self.n_sessions

    def test_classes(self, k: int) -> IntArray:
        return np.arange(self.n_classes)

    def train_samples(self, k: int) -> SampleIndex:
        samples = SampleIndex.concatenate(self.session(int(c), k) for c in self.test_classes(k))
        return samples.shuffled(self.seed, "order", k)

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        return SeenClasses(self.n_classes if n_tasks else 0)

    def first_test_task(self, classes: IntArray) -> IntArray:
        return np.zeros(len(classes), np.int64)

    def session(self, class_id: int, s: int) -> SampleIndex:
        """Session s of a class: as recorded, if there are n_sessions, or a part of its training images."""
        sessions = self.source.sessions(class_id) if isinstance(self.source, HasSessions) else []
        if len(sessions) != self.n_sessions:
            sessions = np.array_split(self.source.pool(class_id, "train"), self.n_sessions)
        return SampleIndex.of_class(class_id, sessions[s])


@dataclass(kw_only=True, eq=False)
class NewInstancesAndClasses(NewInstances):
    """NIC: a first task with several classes, then one or more sessions, each of one class, in random order.

    With 50 classes, 8 sessions and 10 classes in the first task there are 391 tasks of one session, 196 of
    two or 79 of five.
    """

    first_classes: int
    sessions_per_task: int = 1

    @property
    def n_tasks(self) -> int:
        return 1 - (self.first_classes - self.n_classes * self.n_sessions) // self.sessions_per_task

    def test_classes(self, k: int) -> IntArray:
        return (
            np.arange(self.first_classes) if k == 0 else np.unique(self._later_tasks()[0][self._sessions(k)])
        )

    def train_samples(self, k: int) -> SampleIndex:
        classes, sessions = np.arange(self.first_classes), np.zeros(self.first_classes, np.int64)
        if k:
            classes, sessions = (each[self._sessions(k)] for each in self._later_tasks())
        parts = [self.session(int(c), int(s)) for c, s in zip(classes, sessions, strict=True)]
        return SampleIndex.concatenate(parts).shuffled(self.seed, "order", k)

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        if n_tasks == 0:
            return SeenClasses(0)
        later = self._later_tasks()[0][: (n_tasks - 1) * self.sessions_per_task]
        return SeenClasses(self.first_classes, np.unique(later[later >= self.first_classes]))

    def first_test_task(self, classes: IntArray) -> IntArray:
        later, first = np.unique(self._later_tasks()[0], return_index=True)
        position = first[np.searchsorted(later, classes) % len(later)]
        return np.where(classes < self.first_classes, 0, 1 + position // self.sessions_per_task)

    def _sessions(self, k: int) -> slice:
        """The entries of `_later_tasks` that form task k, which is not the first."""
        return slice((k - 1) * self.sessions_per_task, k * self.sessions_per_task)

    def _later_tasks(self) -> tuple[IntArray, IntArray]:
        """Class and session of each session after the first task."""
        sessions, classes = np.divmod(np.arange(self.n_classes * self.n_sessions), self.n_classes)
        # Session 0 of the first classes, which are the first entries, is in the first task.
        order = self.first_classes + rng_at(self.seed, "singles").permutation(
            len(classes) - self.first_classes
        )
        return classes[order], sessions[order]
