import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.memory import ClassBalanced, digest
from everlearn.streams.stream import Batch


def of_labels(labels: list[int]) -> Batch:
    return Batch(np.zeros((len(labels), 1, 1), np.uint8), np.array(labels, np.int64))


LABELS = st.lists(st.integers(-2, 6).map(lambda k: k * abs(k)), max_size=120)


@given(LABELS, st.integers(1, 30), st.integers(0, 20))
def test_counts_are_as_the_method_defines_them(labels: list[int], capacity: int, seed: int) -> None:
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
def test_how_images_are_batched_changes_nothing(labels: list[int], cut: int, capacity: int) -> None:
    whole, parts = ClassBalanced(capacity=capacity), ClassBalanced(capacity=capacity)
    whole.add(of_labels(labels))
    parts.add(of_labels(labels[:cut]))
    parts.add(of_labels(labels[cut:]))
    assert digest(whole.state()) == digest(parts.state())


def test_within_a_class_every_image_is_as_likely() -> None:
    """The frequent class is thinned, whenever its images came."""
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


def test_with_more_classes_than_room_age_does_not_matter() -> None:
    kept = np.zeros(60)
    for seed in range(300):
        memory = ClassBalanced(capacity=11, seed=seed)
        for label in range(60):
            memory.add(of_labels([label] * 3))
        labels = memory.labels()
        assert len(labels) == 11
        kept[labels] += 1
    # The newest is always there; the other ten places are shared fairly among the rest.
    assert kept[59] == 300
    assert np.abs(kept[:59] - 300 * 10 / 59).max() < 4 * np.sqrt(300 * 10 / 59)


def test_rare_classes_survive_a_flood() -> None:
    memory = ClassBalanced(capacity=100)
    memory.add(of_labels([1, 2, 2, 3, 3, 3]))
    for _ in range(50):
        memory.add(of_labels([0] * 200))
    assert [memory.count(k) for k in range(4)] == [94, 1, 2, 3]


def test_what_is_remembered_of_classes_is_bounded() -> None:
    memory = ClassBalanced(capacity=50)
    for task in range(3000):
        memory.add(of_labels([2 * task, 2 * task + 1]))
    assert max(len(memory._seen), len(memory._was_largest)) <= 50
    assert len(memory._heap) <= 4 * 50 + 64 + 2
