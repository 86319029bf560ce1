"""A source's images in a scenario's order."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.factors import Factors
from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios import OrderedSettings, Scenario
from everlearn.streams.scenarios.base import Rows, Seen
from everlearn.streams.source import Source
from everlearn.streams.stream import Batch, Split, Stream, Task

Words = npt.NDArray[np.uint64]

FEISTEL_ROUNDS = 6


def probe_rows(source: Source, seen: Seen, *, size: int, seed: int) -> Rows:
    """At most `size` test rows, spread over the seen classes so that counts differ by at most one.

    A class gives fewer only if it has no more test images. As classes are added the sample changes
    little: the classes in it keep the front of their list, and who is in it follows one fixed order,
    drawn anew only when the number of classes passes a power of two.
    """
    each, more = divmod(size, len(seen))
    favoured = seen.classes(first_of_order(len(seen), more, seed))
    if each == 0:
        counts = {int(c): 1 for c in np.sort(favoured)}
    else:
        lucky = set(favoured.tolist())
        counts = {int(c): each + (int(c) in lucky) for c in np.sort(seen.classes(np.arange(len(seen))))}
    return Rows.concatenate(_some(source, class_id, n, seed) for class_id, n in counts.items())


def first_of_order(n: int, k: int, seed: int) -> IntArray:
    """The first k of the numbers 0..n-1 in a random order, without making the whole order.

    The order is that of a Feistel permutation of 0..4**b-1 with the numbers from n on left out.

    Example:
        >>> first_of_order(10**15, 3, seed=0).shape
        (3,)
        >>> sorted(first_of_order(7, 7, seed=0).tolist())
        [0, 1, 2, 3, 4, 5, 6]
    """
    half_bits = max(1, (max(n - 1, 1).bit_length() + 1) // 2)
    keys = rng_at(seed, "probe order", half_bits).words(FEISTEL_ROUNDS)
    found: list[IntArray] = []
    start, domain = 0, 1 << (2 * half_bits)
    while sum(map(len, found)) < k:
        stop = min(start + 4 * k + 16, domain)
        order = _feistel(np.arange(start, stop, dtype=np.uint64), half_bits, keys)
        found.append(order[order < n].astype(np.int64))
        start = stop
    return np.concatenate([*found, np.zeros(0, np.int64)])[:k]


def _feistel(numbers: Words, half_bits: int, keys: Words) -> Words:
    bits, mask = np.uint64(half_bits), np.uint64((1 << half_bits) - 1)
    left, right = numbers >> bits, numbers & mask
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & mask)
    return (left << bits) | right


def _mix(words: Words) -> Words:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _some(source: Source, class_id: int, n: int, seed: int) -> Rows:
    pool = source.pool(class_id, "test")
    return Rows.of_class(class_id, pool[rng_at(seed, "probe", class_id).permutation(len(pool))[:n]])


class ScenarioStream(Stream):
    """What a source shows, in the order that a scenario says.

    Args:
        spec: the settings that made it.
        scenario: the order, over the source.
        version: raised by any change that moves a pixel or a split.
    """

    def __init__(self, *, spec: OrderedSettings, scenario: Scenario, version: int = 1) -> None:
        self.spec, self.source = spec, scenario.source
        self.scenario, self._labelling = scenario, scenario.labelling
        self.id = f"{spec.kind}/{spec.title}-v{version}"
        there_are = scenario.n_tasks
        if spec.n_tasks is not None and there_are is not None and spec.n_tasks > there_are:
            raise BadInput(f"n_tasks is {spec.n_tasks}, but {self.id} has only {there_are}")
        self.n_tasks = spec.n_tasks or there_are
        self.image_shape, self.provides_task_ids = self.source.image_shape, self._labelling.with_task_ids
        self.labels_recur = scenario.classes_recur or scenario.labelling.modulus is not None

    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        """At most `size` test images spread evenly over all classes of the first `n_tasks` tasks."""
        self._check_number(n_tasks - 1)
        check_range("size", size, 1, 10**9)
        rows = probe_rows(self.source, self.scenario.seen(n_tasks), size=size, seed=seed)
        return replace(self._draw(rows), tasks=self.scenario.home_task(rows.classes))

    def _task(self, k: int) -> Task:
        classes = self.scenario.classes(k)
        # Where two classes share a label, the exemplar is of the one the task is tested on.
        labels, first = np.unique(self._labelling.labels(classes), return_index=True)
        return Task(
            k,
            tuple(labels.tolist()),
            draw=lambda split: self._split(k, split),
            draw_exemplars=lambda: self._exemplars(classes[first]),
            ordered=self.scenario.ordered,
            name=self.scenario.name(k),
        )

    def _split(self, k: int, split: Split) -> Batch:
        return self._draw(self.scenario.rows(k, split))

    def _draw(self, rows: Rows) -> Batch:
        images, factors = self.source.draw(rows.classes, rows.images)
        return Batch(images, self._labelling.labels(rows.classes), factors, self._tasks(rows.classes))

    def _exemplars(self, classes: IntArray) -> Batch:
        images = self.source.exemplars(classes)
        if images is None:
            return self._draw(Rows(classes[:0], classes[:0]))
        factors = Factors.canonical(len(classes))
        return Batch(images, self._labelling.labels(classes), factors, self._tasks(classes))

    def _tasks(self, classes: IntArray) -> IntArray | None:
        return self.scenario.home_task(classes) if self._labelling.with_task_ids else None
