"""Known classes in new images: NI and NIC, after CORe50 (Lomonaco and Maltoni, 2017)."""

import numpy as np

from everlearn.errors import BadInput
from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import Rows, Scenario, Seen
from everlearn.streams.source import Filmed, Source


class NewInstances(Scenario):
    """NI: every task brings new images of all classes; task k is session k of each of them."""

    def __init__(self, source: Source, *, n_classes: int, sessions: int, seed: int) -> None:
        super().__init__(source, seed=seed)
        self.n_tasks = sessions
        self._n_classes, self._sessions = n_classes, sessions
        smallest = min(len(source.pool(c, "train")) for c in range(n_classes))
        if smallest < sessions:
            raise BadInput(f"a class has {smallest} training images, too few for {sessions} sessions")

    def home(self, k: int) -> IntArray:
        """All classes, every time."""
        return np.arange(self._n_classes)

    def train(self, k: int) -> Rows:
        """Session k of every class, mixed."""
        rows = Rows.concatenate(self.session(int(c), k) for c in self.home(k))
        return rows.shuffled(self.seed, "order", k)

    def seen(self, n_tasks: int) -> Seen:
        """All classes, as soon as there is a task."""
        return Seen(self._n_classes if n_tasks else 0)

    def home_task(self, classes: IntArray) -> IntArray:
        """All classes are there from the first task on."""
        return np.zeros(len(classes), np.int64)

    def session(self, class_id: int, s: int) -> Rows:
        """Session s of a class: as it was filmed, or one of equal, disjoint slices of its training images.

        Sources that were filmed may still be cut otherwise, if another number of sessions is asked for.
        """
        films = self.source.sessions(class_id) if isinstance(self.source, Filmed) else []
        if len(films) != self._sessions:
            films = np.array_split(self.source.pool(class_id, "train"), self._sessions)
        return Rows.of_class(class_id, films[s])


class NewInstancesAndClasses(NewInstances):
    """NIC: first some classes together, then one session of one class at a time, in seeded order.

    With 50 classes, 8 sessions and 10 classes in the first task there are 391 tasks.
    """

    def __init__(
        self, source: Source, *, n_classes: int, first_classes: int, sessions: int, seed: int
    ) -> None:
        super().__init__(source, n_classes=n_classes, sessions=sessions, seed=seed)
        self._first = first_classes
        self.n_tasks = 1 + n_classes * sessions - first_classes

    def home(self, k: int) -> IntArray:
        """The first classes, then a single one."""
        return np.arange(self._first) if k == 0 else self._singles()[0][k - 1 : k]

    def train(self, k: int) -> Rows:
        """One session of each of its classes."""
        sessions = np.zeros(self._first, np.int64) if k == 0 else self._singles()[1][k - 1 : k]
        parts = [self.session(int(c), int(s)) for c, s in zip(self.home(k), sessions, strict=True)]
        return Rows.concatenate(parts).shuffled(self.seed, "order", k)

    def seen(self, n_tasks: int) -> Seen:
        """The first classes, and those that have come one by one."""
        if n_tasks == 0:
            return Seen(0)
        came = self._singles()[0][: n_tasks - 1]
        return Seen(self._first, np.unique(came[came >= self._first]))

    def home_task(self, classes: IntArray) -> IntArray:
        """The first task, or the one in which each class came by itself for the first time."""
        came, first = np.unique(self._singles()[0], return_index=True)
        return np.where(classes < self._first, 0, 1 + first[np.searchsorted(came, classes) % len(came)])

    def _singles(self) -> tuple[IntArray, IntArray]:
        """Class and session of all tasks after the first."""
        sessions, classes = np.divmod(np.arange(self._n_classes * self._sessions), self._n_classes)
        # The first task took session 0 of the first classes, which are the first of this list.
        rest = self._first + rng_at(self.seed, "singles").permutation(len(classes) - self._first)
        return classes[rest], sessions[rest]
