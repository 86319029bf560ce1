import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.memory.class_means import GRAIN, ClassSums
from everlearn.memory.table import AnyArray
from everlearn.rng import rng_at

VECTORS = rng_at(0, "class sums").normal(60 * 3).reshape(60, 3)
LABELS = rng_at(0, "class labels").integers(60, 4) * 10


def of(rows: AnyArray) -> ClassSums:
    sums = ClassSums(n_features=3)
    sums.add(VECTORS[rows], LABELS[rows])
    return sums


def content(sums: ClassSums) -> dict[int, tuple[int, list[int]]]:
    state = sums.state()
    return {
        int(label): (int(count), total.tolist())
        for label, count, total in zip(state["labels"], state["counts"], state["sums"], strict=True)
    }


def test_means_are_means() -> None:
    sums = of(np.arange(60))
    for label, mean in zip(sums.labels, sums.means(), strict=True):
        np.testing.assert_allclose(mean, VECTORS[label == LABELS].mean(0), atol=GRAIN)
    some = np.array([20, 0, 20])
    np.testing.assert_array_equal(sums.means(some), sums.means()[sums.positions(some)])


@given(st.permutations(range(60)), st.integers(0, 60))
def test_any_order_and_any_parties_give_the_same_sums(order: list[int], cut: int) -> None:
    rows = np.array(order)
    merged = of(rows[:cut])
    merged.merge(of(rows[cut:]))
    assert content(merged) == content(of(np.arange(60)))


def test_a_state_is_all_there_is() -> None:
    sums, other = of(np.arange(60)), of(np.arange(3))
    other.load(sums.state())
    assert content(other) == content(sums)
    other.add(VECTORS[:1], LABELS[:1])
    assert other.counts.sum() == 61
    assert (other.positions(np.array([0, 99])) >= 0).tolist() == [True, False]


def test_nothing_has_no_means() -> None:
    sums = ClassSums(n_features=3)
    sums.merge(ClassSums(n_features=3))
    assert (len(sums), sums.means().shape, len(sums.labels)) == (0, (0, 3), 0)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e9])
def test_what_cannot_be_added_is_refused(entry: float) -> None:
    sums = ClassSums(n_features=3)
    with pytest.raises(BadInput, match="its sum means nothing"):
        sums.add(np.array([[0.0, 0.0, entry]]), np.array([1]))
    assert len(sums) == 0
    with pytest.raises(BadInput, match="length 2"):
        sums.merge(ClassSums(n_features=2))
