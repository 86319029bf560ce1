from collections import Counter
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams import ScenarioSettings, ScenarioStream
from everlearn.streams.scenario_stream import first_of_order

from .toy_source import ToySource, rows_of


class ToySettings(ScenarioSettings):
    kind: ClassVar[str] = "toy"

    def build(self):
        return ScenarioStream(spec=self, scenario=self.arrange(ToySource()))


def toy(**settings):
    return ToySettings(**settings).build()


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
@pytest.mark.parametrize("n_tasks", [1, 4, 7])
def test_the_largest_probe_is_the_union_of_the_test_sets(scenario, n_tasks):
    stream = toy(**scenario)
    tested = {row for task in stream.take(n_tasks) for row in rows_of(task.test)}
    assert sorted(rows_of(stream.eval_sample(n_tasks, size=10**6))) == sorted(tested)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("size", [1, 17, 64])
def test_a_probe_is_balanced_and_real(scenario, size):
    stream = toy(**scenario)
    probe = stream.eval_sample(6, size=size)
    tests = {
        (row, label)
        for task in stream.take(6)
        for row, label in zip(rows_of(task.test), task.test.labels.tolist(), strict=True)
    }
    rows = rows_of(probe)
    assert set(zip(rows, probe.labels.tolist(), strict=True)) <= tests
    assert len(set(rows)) == len(rows) == min(size, len({row for row, _ in tests}))
    counts = Counter(c for c, _ in rows)
    n_seen = len({c for (c, _), _ in tests})
    assert max(counts.values()) - (min(counts.values()) if len(counts) == n_seen else 0) <= 1


def test_a_probe_costs_the_same_however_much_was_seen():
    few, many = toy(), toy()
    few.eval_sample(200, size=500)
    many.eval_sample(2_000_000, size=500)
    assert few.source.asked == many.source.asked == {"pools": 500, "images": 500}


def test_a_probe_depends_on_its_arguments_only():
    stream = toy()
    assert stream.eval_sample(5, size=30) == toy().eval_sample(5, size=30)
    assert stream.eval_sample(5, size=30) != stream.eval_sample(5, size=30, seed=1)


def test_a_probe_keeps_most_of_its_rows_as_the_stream_goes_on():
    stream = toy()
    before, after = (set(rows_of(stream.eval_sample(n, size=500))) for n in (110, 112))
    assert len(before & after) > 450


@pytest.mark.parametrize(("n_tasks", "size"), [(0, 10), (-1, 10), (11, 10), (5, 0)])
def test_impossible_probes_are_refused(n_tasks, size):
    with pytest.raises(BadInput):
        toy(n_tasks=10).eval_sample(n_tasks, size=size)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.integers(0, 2**63 - 1))
def test_the_order_is_a_permutation(n, seed):
    whole = first_of_order(n, n, seed)
    assert sorted(whole.tolist()) == list(range(n))
    assert whole[: n // 2].tolist() == first_of_order(n, n // 2, seed).tolist()


def test_the_order_favours_nobody():
    counts = np.bincount(np.concatenate([first_of_order(40, 10, seed) for seed in range(4000)]), minlength=40)
    expected = 1000
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 75  # 39 degrees of freedom: exceeded by chance once in 2000
