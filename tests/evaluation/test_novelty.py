import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.evaluation import acceptance, precision_recall, roc, threshold_for

SCORES = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=25)


@given(SCORES, SCORES)
def test_area_is_the_probability_of_correct_ranking(known: list[float], new: list[float]) -> None:
    wins = np.mean([[(n > k) + (n == k) / 2 for n in new] for k in known])
    assert roc(known, new).area == pytest.approx(wins)
    assert acceptance(known, new).area == pytest.approx(wins)


@given(SCORES, SCORES)
def test_points_follow_from_thresholds(known: list[float], new: list[float]) -> None:
    curve, pr = roc(known, new), precision_recall(known, new)
    for k, threshold in enumerate(curve.thresholds):
        false = np.count_nonzero(np.array(known) >= threshold)
        true = np.count_nonzero(np.array(new) >= threshold)
        assert (curve.x[k], curve.y[k]) == pytest.approx((false / len(known), true / len(new)))
        assert pr.x[k] == pytest.approx(true / len(new))
        assert pr.y[k] == pytest.approx(true / (true + false) if true + false else 1.0)
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)


@given(SCORES, SCORES)
def test_acceptance_is_the_mirrored_roc_curve(known: list[float], new: list[float]) -> None:
    curve, flipped = roc(known, new), acceptance(known, new)
    assert flipped.x.tolist() == curve.y.tolist()
    assert flipped.y.tolist() == (1 - curve.x).tolist()


def test_average_precision_by_hand() -> None:
    # Ranked from the top: new, known, new, known: precision 1 at recall 1/2, 2/3 at recall 1.
    assert precision_recall(known=[3.0, 1.0], new=[4.0, 2.0]).area == pytest.approx((1 + 2 / 3) / 2)


def test_perfect_reversed_and_constant_scores() -> None:
    assert roc([0, 1], [2, 3]).area == precision_recall([0, 1], [2, 3]).area == 1.0
    assert roc([2, 3], [0, 1]).area == 0.0
    assert roc([1, 1], [1]).area == 0.5
    assert precision_recall([1] * 3, [1]).area == 0.25
    assert roc([0.0], [np.inf]).area == 1.0


@given(SCORES, st.integers(0, 20))
def test_threshold_is_the_lowest_that_accepts_enough(known: list[float], twentieths: int) -> None:
    accepted = twentieths / 20
    threshold = threshold_for(known, accepted)
    assert np.mean(np.array(known) <= threshold) >= accepted - 1e-12
    lower = [score for score in known if score < threshold]
    assert not lower or np.mean(np.array(known) <= max(lower)) < max(accepted, 1e-12)


def test_threshold_is_not_affected_by_rounding() -> None:
    assert threshold_for(np.arange(20), 0.95) == 18.0


@pytest.mark.parametrize("known", [[], [[0.1]], [float("nan")]])
def test_invalid_scores_are_refused(known: list[float]) -> None:
    for call in (lambda: roc(known, [1.0]), lambda: threshold_for(known)):
        with pytest.raises(BadInput, match="known has shape"):
            call()


def test_accepted_must_be_a_share() -> None:
    with pytest.raises(BadInput, match="accepted is 95"):
        threshold_for([1.0], 95)
