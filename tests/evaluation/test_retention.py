"""Best and change, worked by hand."""

import math

import pytest

from everlearn.evaluation.probes import Probing, probes_of, retained, retention, retention_measures

STAGES = ("a", "a", "b", "b", "a", "c")
"""What each of six moments showed: environment a comes back once."""
FOUND = {
    "a": ([0.5, 0.9, 0.7, 0.6, 0.8, 0.4], [0.04, 0.01, 0.03, 0.09, 0.02, 0.05]),
    "c": ([0.1, 0.2, 0.3, 0.4, 0.3, 0.2], None),
}
ROWS = [
    Probing(
        task=(0, 0, 1, 1, 2, 3)[k],
        shown=shown,
        batch=(5, None, 5, None, None, None)[k],
        found={
            "a": {"object": FOUND["a"][0][k], "position": FOUND["a"][1][k]},  # type: ignore[index]
            "c": {"object": FOUND["c"][0][k]},
        },
    )
    for k, shown in enumerate(STAGES)
]


def test_an_accuracy_is_best_when_it_is_highest() -> None:
    kept = retention(ROWS, "a", "object")
    assert kept.final == 0.4
    assert kept.best == 0.9
    assert kept.change == pytest.approx(0.4 - 0.9), "the best until the end of its last stage"
    assert kept.after == pytest.approx(0.4 - 0.8)


def test_an_error_is_best_when_it_is_lowest() -> None:
    kept = retention(ROWS, "a", "position")
    assert (kept.final, kept.best) == (0.05, 0.01)
    assert kept.change == pytest.approx(0.04)
    assert kept.after == pytest.approx(0.03)


def test_what_comes_last_has_nothing_after_it() -> None:
    kept = retention(ROWS, "c", "object")
    assert (kept.best, kept.change) == (0.4, pytest.approx(-0.2))
    assert math.isnan(kept.after)


def test_only_what_came_before_counts_as_the_best_of_a_stage() -> None:
    """An environment read better after its stage than in it has gained."""
    rows = ROWS[:4]
    gained = [row._replace(found={"a": {"object": 0.2 + 0.1 * k}}) for k, row in enumerate(rows)]
    assert retention(gained, "a", "object").change == pytest.approx(0.5 - 0.3)
    assert retention(gained, "a", "object").after == pytest.approx(0.45 - 0.3)


def test_means_are_over_environments() -> None:
    assert probes_of(ROWS) == [("a", "object"), ("a", "position"), ("c", "object")]
    mean = retained(ROWS, "object")
    assert mean.final == pytest.approx(0.3)
    assert mean.change == pytest.approx((-0.5 - 0.2) / 2)
    assert mean.after == pytest.approx(-0.4), "of those that had an after"
    measures = dict(retention_measures(ROWS))
    assert measures["position_change"] == pytest.approx(0.04)
    assert set(map(math.isnan, dict(retention_measures([])).values())) == {True}
