"""The scenario of VASE: a sequence of environments."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import SampleIndex, Scenario, SeenClasses
from everlearn.streams.source import ConcatSource


@dataclass(kw_only=True, eq=False)
class EnvironmentSchedule(Scenario):
    """Task k has images of one environment, and a fraction `mix` from the others.

    `sequence` has the environment of each task, as an index in `names`; if `recurring`, it repeats without
    end with other images. `n_images` is the number of training images of each task, or fewer if the
    environment has fewer.
    """

    source: ConcatSource
    names: Sequence[str]
    sequence: Sequence[int]
    n_images: Sequence[int]
    mix: float
    recurring: bool

    @property
    def n_tasks(self) -> int | None:
        return None if self.recurring else len(self.sequence)

    def name(self, k: int) -> str:
        return self.names[self.sequence[k % len(self.sequence)]]

    def test_classes(self, k: int) -> IntArray:
        return self.source.classes_of(self.sequence[k % len(self.sequence)])

    def classes(self, k: int) -> IntArray:
        own = self.test_classes(k)
        return np.concatenate([own, np.setdiff1d(self.train_samples(k).class_ids, own)]) if self.mix else own

    def train_samples(self, k: int) -> SampleIndex:
        own = self.test_classes(k)
        others = np.setdiff1d(np.arange(self.source.n_classes), own)
        n = self.n_images[k % len(self.n_images)]
        n_others = round(self.mix * n) if len(others) else 0
        parts = [self._sample(k, own, n - n_others), self._sample(k, others, n_others)]
        return SampleIndex.concatenate(parts).shuffled(self.seed, "order", k)

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        seen = sorted(set(self.sequence[:n_tasks]))
        return SeenClasses(0, np.concatenate([self.source.classes_of(part) for part in seen]))

    def first_test_task(self, classes: IntArray) -> IntArray:
        first = np.full(self.source.n_classes, -1, np.int64)
        for k, part in reversed(list(enumerate(self.sequence))):
            first[self.source.classes_of(part)] = k
        return first[classes]

    def _sample(self, k: int, classes: IntArray, n: int) -> SampleIndex:
        """At most n training samples, balanced over the classes."""
        each, n_extra = divmod(n, max(1, len(classes)))
        extra = set(rng_at(self.seed, "lucky classes", k).permutation(len(classes))[:n_extra].tolist())
        parts = []
        for i, c in enumerate(classes.tolist()):
            pool = self.source.pool(c, "train")
            order = rng_at(self.seed, "stage", k, c).permutation(len(pool))
            parts.append(SampleIndex.of_class(c, pool[order[: each + (i in extra)]]))
        return SampleIndex.concatenate(parts)
