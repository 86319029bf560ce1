import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.evaluation import acceptance, precision_recall, roc, threshold_for

SCORES = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=25)


@given(SCORES, SCORES)
def test_points_follow_from_thresholds(known: list[float], new: list[float]) -> None:
    curve, pr, flipped = roc(known, new), precision_recall(known, new), acceptance(known, new)
    for k, threshold in enumerate(curve.thresholds):
        false = np.count_nonzero(np.array(known) >= threshold)
        true = np.count_nonzero(np.array(new) >= threshold)
        assert (curve.x[k], curve.y[k]) == pytest.approx((false / len(known), true / len(new)))
        assert pr.x[k] == pytest.approx(true / len(new))
        assert pr.y[k] == pytest.approx(true / (true + false) if true + false else 1.0)
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
    assert flipped.x.tolist() == curve.y.tolist()
    assert flipped.y.tolist() == (1 - curve.x).tolist()
    wins = np.mean([[(n > k) + (n == k) / 2 for n in new] for k in known])
    assert curve.area == pytest.approx(wins), "the probability of correct ranking"
    assert flipped.area == pytest.approx(wins)


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
    assert threshold_for(np.arange(20), 0.95) == 18.0, "not affected by rounding"


def test_invalid_scores_are_refused() -> None:
    for known in ([], [[0.1]], [float("nan")]):
        with pytest.raises(BadInput, match="known has shape"):
            roc(known, [1.0])
        with pytest.raises(BadInput, match="known has shape"):
            threshold_for(known)
    with pytest.raises(BadInput, match="accepted is 95"):
        threshold_for([1.0], 95)
