from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams.scenario_stream import first_of_permutation

from .toy_source import samples_of, toy

SCENARIOS = [
    {},
    {"scenario": "nc"},
    {"scenario": "nic", "n_classes": 20},
    {"scenario": "ni"},
    {"scenario": "task-incremental"},
    {"boundaries": "blurry"},
    {"boundaries": "gradual"},
    {"boundaries": "recurring"},
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sample_is_balanced(scenario):
    stream = toy(**scenario)
    tests = {
        (row, label)
        for task in stream.take(6)
        for row, label in zip(samples_of(task.test), task.test.labels.tolist(), strict=True)
    }
    n_seen = len({c for (c, _), _ in tests})
    for size in (1, 17, 64):
        batch = stream.eval_sample(6, size=size)
        samples = samples_of(batch)
        assert set(zip(samples, batch.labels.tolist(), strict=True)) <= tests
        assert len(set(samples)) == len(samples) == min(size, len({row for row, _ in tests}))
        counts = Counter(c for c, _ in samples)
        assert max(counts.values()) - (min(counts.values()) if len(counts) == n_seen else 0) <= 1


def test_cost_does_not_depend_on_the_number_of_tasks():
    few, many = toy(), toy()
    few.eval_sample(200, size=500)
    many.eval_sample(2_000_000, size=500)
    assert few.source.calls == many.source.calls == {"pools": 500, "images": 500}


def test_sample_changes_little_with_new_tasks():
    stream = toy()
    before, after = (set(samples_of(stream.eval_sample(n, size=500))) for n in (110, 112))
    assert len(before & after) > 450


@pytest.mark.parametrize(("n_tasks", "size"), [(0, 10), (-1, 10), (11, 10), (5, 0)])
def test_invalid_arguments_are_rejected(n_tasks, size):
    with pytest.raises(BadInput, match=r"n_tasks is (0|-1|11); it must be|size is 0; it must be"):
        toy(n_tasks=10).eval_sample(n_tasks, size=size)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 400), st.integers(0, 2**63 - 1))
def test_first_of_permutation_is_a_prefix(n, seed):
    whole = first_of_permutation(n, n, seed)
    assert sorted(whole.tolist()) == list(range(n))
    assert whole[: n // 2].tolist() == first_of_permutation(n, n // 2, seed).tolist()


def test_first_of_permutation_is_uniform():
    counts = np.bincount(
        np.concatenate([first_of_permutation(40, 10, seed) for seed in range(4000)]), minlength=40
    )
    expected = 1000
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 75  # 39 degrees of freedom; exceeded with probability 1/2000
