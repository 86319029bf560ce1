"""Streams made of a source and a scenario, and class-balanced evaluation samples."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.factors import Factors
from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios import Scenario, ScenarioStreamSettings
from everlearn.streams.scenarios.base import SampleIndex, SeenClasses
from everlearn.streams.source import Source
from everlearn.streams.stream import MAX_TASKS, Batch, Stream, Task

Words = npt.NDArray[np.uint64]

VERSION = "v1"
"""Increased by any change to a pixel or a split."""
FEISTEL_ROUNDS = 6


class ScenarioStream(Stream):
    """The images of a source in the order of a scenario, which holds the source.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(scenario="ni", classes_per_task=2, n_sessions=3, image_size=16, factor_values=2)
        >>> stream.source.class_name(1), stream.scenario.n_tasks
        ('shape 1', 3)
        >>> stream.task(2).labels  # the classes of all tasks, in a new session
        (0, 1)
    """

    def __init__(self, *, spec: ScenarioStreamSettings, scenario: Scenario) -> None:
        self.spec, self.source = spec, scenario.source
        self.scenario, self._label_map = scenario, scenario.label_map
        self.id = f"{spec.kind}/{spec.title}-{VERSION}"
        if spec.n_tasks is not None and scenario.n_tasks is not None and spec.n_tasks > scenario.n_tasks:
            raise BadInput(f"n_tasks is {spec.n_tasks}, but {self.id} has only {scenario.n_tasks}")
        self.n_tasks = spec.n_tasks or scenario.n_tasks
        self.image_shape, self.provides_task_ids = self.source.image_shape, self._label_map.with_task_ids
        self.labels_recur = scenario.classes_recur or self._label_map.modulus is not None

    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        check_range("n_tasks", n_tasks, 1, MAX_TASKS if self.n_tasks is None else self.n_tasks)
        check_range("size", size, 1, 10**9)
        samples = balanced_sample(self.source, self.scenario.seen_classes(n_tasks), size=size, seed=seed)
        return replace(self._load(samples), tasks=self.scenario.first_test_task(samples.class_ids))

    def load_task(self, k: int) -> Task:
        classes = self.scenario.classes(k)
        # If two classes share a label, the exemplar is that of the class the task is tested on.
        labels, first = np.unique(self._label_map.labels(classes), return_index=True)
        return Task(
            k,
            tuple(labels.tolist()),
            load_split=lambda split: self._load(self.scenario.samples(k, split)),
            load_exemplars=lambda: self._load_exemplars(classes[first]),
            ordered=self.scenario.ordered,
            name=self.scenario.name(k),
        )

    def _load(self, samples: SampleIndex) -> Batch:
        images, factors = self.source.load(samples.class_ids, samples.image_ids)
        labels = self._label_map.labels(samples.class_ids)
        return Batch(images, labels, factors, self._task_ids(samples.class_ids))

    def _load_exemplars(self, classes: IntArray) -> Batch:
        images = self.source.exemplars(classes)
        if images is None:
            return self._load(SampleIndex(classes[:0], classes[:0]))
        factors = Factors.canonical(len(classes))
        return Batch(images, self._label_map.labels(classes), factors, self._task_ids(classes))

    def _task_ids(self, classes: IntArray) -> IntArray | None:
        return self.scenario.first_test_task(classes) if self._label_map.with_task_ids else None


def balanced_sample(source: Source, seen: SeenClasses, *, size: int, seed: int) -> SampleIndex:
    """At most `size` test images of the seen classes; counts per class differ by at most one.

    The sample changes little when classes are added: classes in it keep the first images of their list, and
    the selection follows one random order, which changes only when their number exceeds a power of four.
    """
    each, n_extra = divmod(size, len(seen))
    extra = seen.take(first_of_permutation(len(seen), n_extra, seed)).tolist()
    counts = dict.fromkeys(seen.take(np.arange(len(seen))).tolist() if each else extra, each)
    for c in extra:
        counts[c] += 1
    parts = []
    for c, n in sorted(counts.items()):
        pool = source.pool(c, "test")
        parts.append(SampleIndex.of_class(c, pool[rng_at(seed, "probe", c).permutation(len(pool))[:n]]))
    return SampleIndex.concatenate(parts)


def first_of_permutation(n: int, k: int, seed: int) -> IntArray:
    """The first k elements of a random permutation of 0..n-1, in O(k).

    The permutation is a Feistel network on 0..4**b-1, with values from n on left out.
    """
    half_bits = max(1, (max(n - 1, 1).bit_length() + 1) // 2)
    keys = rng_at(seed, "probe order", half_bits).words(FEISTEL_ROUNDS)
    found: list[IntArray] = []
    start, domain = 0, 1 << (2 * half_bits)
    while sum(map(len, found)) < k:
        stop = min(start + 4 * k + 16, domain)
        values = _feistel(np.arange(start, stop, dtype=np.uint64), half_bits, keys)
        found.append(values[values < n].astype(np.int64))
        start = stop
    return np.concatenate([*found, np.zeros(0, np.int64)])[:k]


def _feistel(values: Words, half_bits: int, keys: Words) -> Words:
    bits, mask = np.uint64(half_bits), np.uint64((1 << half_bits) - 1)
    left, right = values >> bits, values & mask
    for key in keys:
        words = right ^ key  # then the finalizer of splitmix64: each input bit affects all output bits
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        left, right = right, left ^ ((words ^ (words >> np.uint64(31))) & mask)
    return (left << bits) | right
