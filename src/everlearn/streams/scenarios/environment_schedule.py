"""Environments one after another, some of which show the same things differently."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import Labelling, Rows, Scenario, Seen
from everlearn.streams.source import JoinedSource


class Stages(Scenario):
    """Task k is stage k: images of one environment, with a few of the others mixed in.

    Args:
        source: the environments, joined.
        names: what the environments are called.
        sequence: the environment of each stage, by number.
        images: training images of each stage, if there are so many.
        mix: the share of them that comes from the other environments.
        recurring: after the last stage begin again, with other images if there are enough.
    """

    def __init__(
        self,
        source: JoinedSource,
        *,
        names: Sequence[str],
        sequence: Sequence[int],
        images: Sequence[int],
        mix: float,
        recurring: bool,
        labelling: Labelling,
        seed: int,
    ) -> None:
        super().__init__(source, seed=seed, labelling=labelling)
        self.n_tasks = None if recurring else len(sequence)
        self._environments, self._names, self._sequence = source, names, sequence
        self._images, self._mix = images, mix

    def name(self, k: int) -> str:
        """The name of the environment."""
        return self._names[self._at(k)]

    def home(self, k: int) -> IntArray:
        """All classes of the environment."""
        return self._environments.members(self._at(k))

    def classes(self, k: int) -> IntArray:
        """All classes of the environment, then those mixed in."""
        home = self.home(k)
        return np.concatenate([home, np.setdiff1d(self.train(k).classes, home)]) if self._mix else home

    def train(self, k: int) -> Rows:
        """Images of the environment and of the others, mixed."""
        home = self.home(k)
        others = np.setdiff1d(np.arange(self._environments.n_classes), home)
        n = self._images[k % len(self._images)]
        n_others = round(self._mix * n) if len(others) else 0
        parts = [self._some(k, home, n - n_others), self._some(k, others, n_others)]
        return Rows.concatenate(parts).shuffled(self.seed, "order", k)

    def seen(self, n_tasks: int) -> Seen:
        """All classes of the environments of the first stages."""
        came = sorted(set(self._sequence[:n_tasks]))
        return Seen(0, np.concatenate([self._environments.members(part) for part in came]))

    def home_task(self, classes: IntArray) -> IntArray:
        """The first stage whose environment shows each class."""
        first = np.full(self._environments.n_classes, -1, np.int64)
        for k, part in reversed(list(enumerate(self._sequence))):
            first[self._environments.members(part)] = k
        return first[classes]

    def _at(self, k: int) -> int:
        return self._sequence[k % len(self._sequence)]

    def _some(self, k: int, classes: IntArray, n: int) -> Rows:
        """As many as n training rows, evenly over the classes as far as their images reach."""
        each, more = divmod(n, max(1, len(classes)))
        lucky = set(rng_at(self.seed, "lucky classes", k).permutation(len(classes))[:more].tolist())
        return Rows.concatenate(self._of_class(k, int(c), each + (i in lucky)) for i, c in enumerate(classes))

    def _of_class(self, k: int, class_id: int, n: int) -> Rows:
        pool = self.source.pool(class_id, "train")
        chosen = rng_at(self.seed, "stage", k, class_id).permutation(len(pool))[:n]
        return Rows.of_class(class_id, pool[chosen])


@dataclass(frozen=True)
class TableLabelling(Labelling):
    """Labels that are looked up, so that a thing has one label in all environments."""

    table: tuple[int, ...] = ()

    def labels(self, classes: IntArray) -> IntArray:
        """The labels of these classes."""
        return np.array(self.table, dtype=np.int64)[classes]
