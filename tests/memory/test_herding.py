from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.memory import Herding, herd
from everlearn.streams.stream import Batch


def test_herding_by_hand() -> None:
    # Mean 4: nearest is 5; then (5 + 2) / 2 = 3.5 is nearest; then (5 + 2 + 5.5) / 3 = 4.17.
    points = np.array([[0.0], [2.0], [5.0], [5.5], [7.5]])
    assert herd(points, 3).tolist() == [2, 1, 3]


@given(hnp.arrays(np.float64, (5, 2), elements=st.integers(-50, 50)))
def test_each_choice_is_the_best_there_was(points: np.ndarray) -> None:
    order = herd(points, 5)
    assert sorted(order.tolist()) == list(range(5))
    mean = points.mean(axis=0)
    for k in range(1, 6):
        reached = np.linalg.norm(mean - points[order[:k]].mean(axis=0))
        for other in order[k:]:
            rival = np.linalg.norm(mean - points[[*order[: k - 1], other]].mean(axis=0))
            assert reached <= rival + 1e-9


def test_herding_comes_closer_than_most_orders() -> None:
    points = np.random.Generator(np.random.Philox(5)).normal(size=(7, 2))

    def distance(order: tuple[int, ...]) -> float:
        return float(np.linalg.norm(points.mean(axis=0) - points[list(order[:3])].mean(axis=0)))

    better = [distance(order) < distance(tuple(herd(points, 7))) for order in permutations(range(7), 3)]
    assert np.mean(better) < 0.2


def task(labels: list[int], per_class: int = 6) -> tuple[Batch, np.ndarray]:
    n = len(labels) * per_class
    batch = Batch(np.zeros((n, 1, 1), np.uint8), np.repeat(labels, per_class))
    return batch, np.random.Generator(np.random.Philox(labels[0])).normal(size=(n, 3))


def test_shares_shrink_from_the_tail_in_the_order_chosen() -> None:
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


def test_a_class_met_again_is_chosen_anew() -> None:
    memory = Herding(capacity=4)
    for mark in (1, 2):
        batch, features = task([5, 6])
        memory.add(batch, features=features, mark=np.full(12, mark))
    assert memory.everything().extra["mark"].tolist() == [2, 2, 2, 2]


def test_with_more_classes_than_room_the_newest_stay() -> None:
    memory = Herding(capacity=5)
    for label in (9, 3, 8, 1, 7, 2, 6):
        memory.add(*task([label])[:1])
    assert memory.labels() == [1, 2, 6, 7, 8]
    memory.add(task(list(range(20, 40)))[0])
    assert memory.labels() == [35, 36, 37, 38, 39]
    assert [memory.count(label) for label in memory.labels()] == [1] * 5


def test_without_features_pixels_are_followed() -> None:
    images = np.array([0, 9, 5], np.uint8).reshape(3, 1, 1)
    memory = Herding(capacity=2)
    memory.add(Batch(images, np.zeros(3, np.int64)))
    assert memory.of(0).images.ravel().tolist() == [5, 0]


def test_features_must_have_a_row_for_each_image() -> None:
    with pytest.raises(BadInput, match=r"they must be \(12, d\)"):
        Herding(capacity=2).add(task([1, 2])[0], features=np.zeros((3, 3)))
