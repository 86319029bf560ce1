import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.memory.class_means import RESOLUTION, ClassMeans
from everlearn.memory.table import AnyArray
from everlearn.rng import rng_at

VECTORS = rng_at(0, "class sums").normal(60 * 3).reshape(60, 3)
LABELS = rng_at(0, "class labels").integers(60, 4) * 10


def means_of(rows: AnyArray) -> ClassMeans:
    sums = ClassMeans(n_features=3)
    sums.add(VECTORS[rows], LABELS[rows])
    return sums


def content(sums: ClassMeans) -> dict[int, tuple[int, list[int]]]:
    state = sums.state()
    return {
        int(label): (int(count), total.tolist())
        for label, count, total in zip(state["labels"], state["counts"], state["sums"], strict=True)
    }


def test_means() -> None:
    sums = means_of(np.arange(60))
    for label, mean in zip(sums.labels, sums.means(), strict=True):
        np.testing.assert_allclose(mean, VECTORS[label == LABELS].mean(0), atol=RESOLUTION)
    some = np.array([20, 0, 20])
    np.testing.assert_array_equal(sums.means(some), sums.means()[sums.positions(some)])


@given(st.permutations(range(60)), st.integers(0, 60))
def test_sums_do_not_depend_on_order_or_merging(order: list[int], cut: int) -> None:
    rows = np.array(order)
    merged = means_of(rows[:cut])
    merged.merge(means_of(rows[cut:]))
    assert content(merged) == content(means_of(np.arange(60)))


def test_state_round_trip() -> None:
    sums, other = means_of(np.arange(60)), means_of(np.arange(3))
    other.load(sums.state())
    assert content(other) == content(sums)
    other.add(VECTORS[:1], LABELS[:1])
    assert other.counts.sum() == 61
    assert (other.positions(np.array([0, 99])) >= 0).tolist() == [True, False]


def test_empty_means() -> None:
    sums = ClassMeans(n_features=3)
    sums.merge(ClassMeans(n_features=3))
    assert (len(sums), sums.means().shape, len(sums.labels)) == (0, (0, 3), 0)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e9])
def test_bad_vectors_are_rejected(entry: float) -> None:
    sums = ClassMeans(n_features=3)
    with pytest.raises(BadInput, match="is not finite or beyond"):
        sums.add(np.array([[0.0, 0.0, entry]]), np.array([1]))
    assert len(sums) == 0
    with pytest.raises(BadInput, match="means of 2 features cannot be merged"):
        sums.merge(ClassMeans(n_features=2))
