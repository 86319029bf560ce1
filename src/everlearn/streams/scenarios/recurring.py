"""Old tasks come back."""

import numpy as np

from everlearn.chance import IntArray, draws
from everlearn.streams.scenarios.scenario import Labelling, Seen
from everlearn.streams.scenarios.sharp import ClassSets, Sharp
from everlearn.streams.source import Source


class Recurring(Sharp):
    """Every `every`-th task shows an earlier set of classes again, chosen by the seed.

    With every = 3 the sets are 0, 1, (0 or 1), 2, 3, (one of 0..3), 4, ...: among the first n tasks
    n // every are returns, so set and task number follow from one another without counting.
    """

    classes_return = True

    def __init__(
        self, source: Source, *, sets: ClassSets, every: int, labelling: Labelling, seed: int
    ) -> None:
        super().__init__(source, sets=sets, labelling=labelling, seed=seed)
        self.every = every
        if sets.n_classes is not None:
            self.n_tasks = int(self.home_task(np.array([sets.n_classes - 1]))[0]) + 1

    def set_at(self, k: int) -> int:
        """Which set of classes task k shows."""
        n_before = k - k // self.every
        returns = (k + 1) % self.every == 0
        return int(draws(self.seed, "return", k).integers(1, n_before)[0]) if returns else n_before

    def home(self, k: int) -> IntArray:
        """The set of task k, new or returning."""
        return self.sets.members(self.set_at(k))

    def seen(self, n_tasks: int) -> Seen:
        """All sets that have come at least once."""
        return Seen(self.sets.start(n_tasks - n_tasks // self.every))

    def home_task(self, classes: IntArray) -> IntArray:
        """The task in which the set of each class came first."""
        sets = self.sets.number(classes)
        return np.asarray(sets + sets // (self.every - 1))
