"""The scenario of VASE: a sequence of environments."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import LabelMap, SampleIndex, Scenario, SeenClasses
from everlearn.streams.source import ConcatSource


class EnvironmentSchedule(Scenario):
    """Task k has images of one environment, optionally mixed with images of the others.

    Args:
        source: the environments, concatenated.
        names: of the environments.
        sequence: index of the environment of each task.
        n_images: training images of each task, as far as available.
        mix: fraction of them from the other environments.
        recurring: repeat the sequence without end, with other images as far as available.
        label_map: the labels of classes.
        seed: selects the images.
    """

    def __init__(
        self,
        source: ConcatSource,
        *,
        names: Sequence[str],
        sequence: Sequence[int],
        n_images: Sequence[int],
        mix: float,
        recurring: bool,
        label_map: LabelMap,
        seed: int,
    ) -> None:
        super().__init__(source, seed=seed, label_map=label_map)
        self.n_tasks = None if recurring else len(sequence)
        self._environments, self._names, self._sequence = source, names, sequence
        self._n_images, self._mix = n_images, mix

    def name(self, k: int) -> str:
        return self._names[self._environment(k)]

    def test_classes(self, k: int) -> IntArray:
        return self._environments.classes_of(self._environment(k))

    def classes(self, k: int) -> IntArray:
        own = self.test_classes(k)
        return np.concatenate([own, np.setdiff1d(self.train_samples(k).class_ids, own)]) if self._mix else own

    def train_samples(self, k: int) -> SampleIndex:
        own = self.test_classes(k)
        others = np.setdiff1d(np.arange(self._environments.n_classes), own)
        n = self._n_images[k % len(self._n_images)]
        n_others = round(self._mix * n) if len(others) else 0
        parts = [self._sample(k, own, n - n_others), self._sample(k, others, n_others)]
        return SampleIndex.concatenate(parts).shuffled(self.seed, "order", k)

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        seen = sorted(set(self._sequence[:n_tasks]))
        return SeenClasses(0, np.concatenate([self._environments.classes_of(part) for part in seen]))

    def first_test_task(self, classes: IntArray) -> IntArray:
        first = np.full(self._environments.n_classes, -1, np.int64)
        for k, part in reversed(list(enumerate(self._sequence))):
            first[self._environments.classes_of(part)] = k
        return first[classes]

    def _environment(self, k: int) -> int:
        return self._sequence[k % len(self._sequence)]

    def _sample(self, k: int, classes: IntArray, n: int) -> SampleIndex:
        """At most n training samples, balanced over the classes."""
        each, n_extra = divmod(n, max(1, len(classes)))
        extra = set(rng_at(self.seed, "lucky classes", k).permutation(len(classes))[:n_extra].tolist())
        return SampleIndex.concatenate(
            self._sample_class(k, int(c), each + (i in extra)) for i, c in enumerate(classes)
        )

    def _sample_class(self, k: int, class_id: int, n: int) -> SampleIndex:
        pool = self.source.pool(class_id, "train")
        selected = rng_at(self.seed, "stage", k, class_id).permutation(len(pool))[:n]
        return SampleIndex.of_class(class_id, pool[selected])


@dataclass(frozen=True)
class LabelTable(LabelMap):
    """Labels by class id, so that an object has one label in all environments."""

    table: tuple[int, ...] = ()

    def labels(self, classes: IntArray) -> IntArray:
        return np.array(self.table, dtype=np.int64)[classes]
