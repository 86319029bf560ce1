import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.streams.images.source import cut, cut_all

SHARES = (0.7, 0.1, 0.2)


def sizes(parts):
    return {name: len(part) for name, part in parts.items() if name != "held_out"}


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, (1, 0, 0)), (2, (1, 0, 1)), (5, (4, 0, 1)), (10, (7, 1, 2)), (15, (11, 1, 3)), (20, (14, 2, 4))],
)
def test_shares_of_small_classes(n, expected):
    assert tuple(sizes(cut_all(np.arange(n), SHARES)).values()) == expected


@pytest.mark.parametrize(
    ("n", "expected"),
    [(100, (10, 5, 20)), (30, (5, 5, 20)), (22, (1, 1, 20)), (3, (1, 0, 2)), (1, (1, 0, 0))],
)
def test_counts_give_what_they_can(n, expected):
    assert tuple(sizes(cut_all(np.arange(n), (10, 5, 20))).values()) == expected


def test_own_test_images_stay_test():
    parts = cut(np.arange(80), np.arange(100, 130), SHARES)
    assert sizes(parts) == {"train": 70, "val": 10, "test": 30}
    assert sizes(cut(np.arange(80), np.arange(100, 130), (20, 0, 7))) == {"train": 20, "val": 0, "test": 7}
    assert parts["test"].min() == 100


@given(st.integers(1, 200), st.floats(0, 0.9), st.floats(0.01, 0.9))
def test_parts_are_disjoint_and_complete(n, val, test):
    total = 1.0 + val + test
    parts = cut_all(np.arange(n), (1 / total, val / total, test / total))
    everything = np.concatenate(list(parts.values()))
    np.testing.assert_array_equal(np.sort(everything), np.arange(n))
    assert len(parts["train"]) >= 1
    assert n == 1 or len(parts["test"]) >= 1
