"""Reservoir, class-balanced and herding buffers."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.memory import ClassBalanced, Herding, Reservoir, herd
from everlearn.serialization import digest
from everlearn.streams.stream import Batch


def numbered(n: int) -> Batch:
    return Batch(np.zeros((n, 1, 1), np.uint8), np.arange(n))


def test_reservoir_is_uniform_over_images() -> None:
    n, capacity, runs = 60, 12, 3000
    kept = np.zeros(n)
    for seed in range(runs):
        memory = Reservoir(capacity=capacity, seed=seed)
        memory.add(numbered(n))
        kept[memory.everything().labels] += 1
    share = capacity / n
    spread = np.sqrt(runs * share * (1 - share))
    # The largest of 60 standard normal numbers is below 4 with probability 0.996; seeds are fixed.
    assert np.abs(kept - runs * share).max() < 4 * spread
    assert kept.sum() == runs * capacity


def test_reservoir_is_uniform_over_subsets() -> None:
    """All 10 pairs out of 5 are equally frequent."""
    pairs: dict[tuple[int, ...], int] = {}
    for seed in range(4000):
        memory = Reservoir(capacity=2, seed=seed)
        memory.add(numbered(5))
        pair = tuple(sorted(memory.everything().labels.tolist()))
        pairs[pair] = pairs.get(pair, 0) + 1
    counts = np.array(list(pairs.values()))
    assert len(counts) == 10
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi-square, 9 degrees of freedom, 0.999


@given(st.lists(st.integers(0, 700), max_size=5), st.integers(0, 100))
def test_reservoir_does_not_depend_on_batches(cuts: list[int], seed: int) -> None:
    whole, parts = Reservoir(capacity=40, seed=seed), Reservoir(capacity=40, seed=seed)
    whole.add(numbered(700))
    edges = [0, *sorted(cuts), 700]
    for start, stop in pairwise(edges):
        parts.add(numbered(700)[start:stop])
    assert digest(whole.state()) == digest(parts.state())


def test_reservoir_golden() -> None:
    memory = Reservoir(capacity=5, seed=1)
    memory.add(numbered(1000))
    assert memory.everything().labels.tolist() == [57, 67, 11, 139, 235]


def of_labels(labels: list[int]) -> Batch:
    return Batch(np.zeros((len(labels), 1, 1), np.uint8), np.array(labels, np.int64))


LABELS = st.lists(st.integers(-2, 6).map(lambda k: k * abs(k)), max_size=120)


@given(LABELS, st.integers(1, 30), st.integers(0, 20))
def test_class_counts(labels: list[int], capacity: int, seed: int) -> None:
    memory = ClassBalanced(capacity=capacity, seed=seed)
    memory.add(of_labels(labels))
    assert len(memory) == min(capacity, len(labels))
    n_classes = len(set(labels))
    counts = {label: memory.count(label) for label in set(labels)}
    if len(labels) <= capacity or n_classes > capacity:
        return
    largest = max(counts.values())
    for label, count in counts.items():
        if label in memory._was_largest:
            assert count >= largest - 1
        else:
            assert count == labels.count(label)


@given(LABELS, st.integers(0, 120), st.integers(1, 20))
def test_class_balanced_does_not_depend_on_batches(labels: list[int], cut: int, capacity: int) -> None:
    whole, parts = ClassBalanced(capacity=capacity), ClassBalanced(capacity=capacity)
    whole.add(of_labels(labels))
    parts.add(of_labels(labels[:cut]))
    parts.add(of_labels(labels[cut:]))
    assert digest(whole.state()) == digest(parts.state())


def test_class_balanced_is_uniform_within_a_class() -> None:
    kept = np.zeros(80)
    for seed in range(2000):
        memory = ClassBalanced(capacity=20, seed=seed)
        labels = np.tile([0, 0, 0, 0, 1], 20)
        memory.add(of_labels(labels.tolist()), number=np.arange(100))
        assert (memory.count(0), memory.count(1)) == (10, 10)
        frequent = np.flatnonzero(labels == 0)
        kept[np.searchsorted(frequent, memory.of(0).extra["number"])] += 1
    expected, spread = 2000 / 8, np.sqrt(2000 / 8 * 7 / 8)
    assert np.abs(kept - expected).max() < 4.5 * spread


def test_more_classes_than_capacity_are_sampled_uniformly() -> None:
    kept = np.zeros(60)
    for seed in range(300):
        memory = ClassBalanced(capacity=11, seed=seed)
        for label in range(60):
            memory.add(of_labels([label] * 3))
        labels = memory.labels()
        assert len(labels) == 11
        kept[labels] += 1
    # The newest class is always stored; the other ten rows are uniform over the rest.
    assert kept[59] == 300
    assert np.abs(kept[:59] - 300 * 10 / 59).max() < 4 * np.sqrt(300 * 10 / 59)


def test_rare_classes_are_kept() -> None:
    memory = ClassBalanced(capacity=100)
    memory.add(of_labels([1, 2, 2, 3, 3, 3]))
    for _ in range(50):
        memory.add(of_labels([0] * 200))
    assert [memory.count(k) for k in range(4)] == [94, 1, 2, 3]


def test_class_statistics_are_bounded() -> None:
    memory = ClassBalanced(capacity=50)
    for task in range(3000):
        memory.add(of_labels([2 * task, 2 * task + 1]))
    assert max(len(memory._n_seen_of), len(memory._was_largest)) <= 50
    assert len(memory._heap) <= 4 * 50 + 64 + 2


def test_herding_by_hand() -> None:
    # Mean 4: nearest is 5; then (5 + 2) / 2 = 3.5 is nearest; then (5 + 2 + 5.5) / 3 = 4.17.
    points = np.array([[0.0], [2.0], [5.0], [5.5], [7.5]])
    assert herd(points, 3).tolist() == [2, 1, 3]


@given(hnp.arrays(np.float64, (5, 2), elements=st.integers(-50, 50)))
def test_herding_selects_greedily(points: np.ndarray) -> None:
    order = herd(points, 5)
    assert sorted(order.tolist()) == list(range(5))
    mean = points.mean(axis=0)
    for k in range(1, 6):
        reached = np.linalg.norm(mean - points[order[:k]].mean(axis=0))
        for other in order[k:]:
            other_distance = np.linalg.norm(mean - points[[*order[: k - 1], other]].mean(axis=0))
            assert reached <= other_distance + 1e-9


def test_herding_is_better_than_most_orders() -> None:
    points = np.random.Generator(np.random.Philox(5)).normal(size=(7, 2))

    def distance(order: tuple[int, ...]) -> float:
        return float(np.linalg.norm(points.mean(axis=0) - points[list(order[:3])].mean(axis=0)))

    better = [distance(order) < distance(tuple(herd(points, 7))) for order in permutations(range(7), 3)]
    assert np.mean(better) < 0.2


def task(labels: list[int], per_class: int = 6) -> tuple[Batch, np.ndarray]:
    n = len(labels) * per_class
    batch = Batch(np.zeros((n, 1, 1), np.uint8), np.repeat(labels, per_class))
    return batch, np.random.Generator(np.random.Philox(labels[0])).normal(size=(n, 3))


def test_classes_drop_the_last_selected_images() -> None:
    memory = Herding(capacity=12)
    chosen: dict[int, list[int]] = {}
    for first in range(0, 12, 2):
        batch, features = task([first, first + 1])
        memory.add(batch, features=features, number=np.arange(12))
        share = 12 // (first + 2)
        for label in range(first + 2):
            kept = memory.of(label).extra["number"].tolist()
            if label >= first:
                members = np.flatnonzero(batch.labels == label)
                assert kept == members[herd(features[members], share)].tolist()
                chosen[label] = kept
            assert kept == chosen[label][:share]


def test_a_repeated_class_is_selected_anew() -> None:
    memory = Herding(capacity=4)
    for mark in (1, 2):
        batch, features = task([5, 6])
        memory.add(batch, features=features, mark=np.full(12, mark))
    assert memory.everything().extra["mark"].tolist() == [2, 2, 2, 2]


def test_more_classes_than_capacity_keep_the_newest() -> None:
    memory = Herding(capacity=5)
    for label in (9, 3, 8, 1, 7, 2, 6):
        memory.add(*task([label])[:1])
    assert memory.labels() == [1, 2, 6, 7, 8]
    memory.add(task(list(range(20, 40)))[0])
    assert memory.labels() == [35, 36, 37, 38, 39]
    assert [memory.count(label) for label in memory.labels()] == [1] * 5


def test_default_features_are_pixels() -> None:
    images = np.array([0, 9, 5], np.uint8).reshape(3, 1, 1)
    memory = Herding(capacity=2)
    memory.add(Batch(images, np.zeros(3, np.int64)))
    assert memory.of(0).images.ravel().tolist() == [5, 0]


def test_features_need_one_row_per_image() -> None:
    with pytest.raises(BadInput, match=r"they must be \(12, d\)"):
        Herding(capacity=2).add(task([1, 2])[0], features=np.zeros((3, 3)))
