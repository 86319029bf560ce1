"""Confidence: of separable scores, of overlapping scores, and without any."""

from pathlib import Path

import numpy as np
import pytest

from everlearn import Recogniser
from everlearn.recognition.calibration import PRIOR, Calibration
from everlearn.recognition.calibration_scores import disturbed_scores
from tests.recognition.things import photo, thing


def scores(mean: float, n: int, spread: float) -> np.ndarray:
    """Of objects that were cut out."""
    found = np.random.default_rng(round(100 * mean)).normal(mean, spread, (n, 5)).clip(0, 1)
    return np.concatenate([found[:, :3], np.ones((n, 1)), found[:, 3:], np.zeros((n, 2))], axis=1)


@pytest.mark.parametrize("spread", [0.01, 0.15])
def test_errors_of_both_kinds_balance(spread: float) -> None:
    known, others = scores(0.8, 200, spread), scores(0.4, 40, spread)
    fitted = Calibration.fit(known, others, "gradients")
    refused, accepted = (fitted.confidence(known) < 0.5).mean(), (fitted.confidence(others) >= 0.5).mean()
    assert max(refused, accepted) <= 0.1
    assert (fitted.weights[1:] >= 0).all()
    assert np.isfinite(fitted.weights).all()


def test_the_prior_holds_without_scores_and_is_left_with_many() -> None:
    none = np.zeros((0, 8))
    np.testing.assert_array_equal(Calibration.fit(none, scores(0.4, 5, 0.1)).weights, PRIOR)
    low = scores(0.4, 300, 0.05), scores(0.1, 300, 0.05)
    shifted = Calibration.fit(*low, "gradients")
    assert shifted.confidence(low[0]).mean() > 0.8
    # The features that the prior was fitted with need more images to leave it.
    few = low[0][:20], low[1][:20]
    fits = Calibration.fit(*few, "gradients"), Calibration.fit(*few)
    moved, least = (each.weights[0] - PRIOR[0] for each in fits)
    assert 0 < least < 0.8 * moved


def test_scenes_need_higher_scores_and_do_not_change_the_weights() -> None:
    known, others = scores(0.8, 50, 0.1), scores(0.4, 50, 0.1)
    in_scene = known * [1, 1, 1, 0, 1, 0, 1, 1]  # and no outline
    fitted = Calibration.fit(np.concatenate([known, in_scene]), others)
    np.testing.assert_array_equal(fitted.weights, Calibration.fit(known, others).weights)
    assert (fitted.confidence(in_scene) < fitted.confidence(known)).all()


def test_noisy_and_covered_images_need_lower_scores() -> None:
    asked = scores(0.6, 50, 0.1)
    for column in (6, 7):
        harder = asked.copy()
        harder[:, column] = 1
        assert (Calibration(PRIOR).confidence(harder) > Calibration(PRIOR).confidence(asked)).all()


def test_another_image_of_a_class_is_asked_without_the_exemplar(tmp_path: Path) -> None:
    with Recogniser.open(tmp_path / "memory", features="gradients") as memory:
        for number in range(4):
            memory.teach(thing(number), f"thing {number}")
        alone = disturbed_scores(memory.gallery, memory.features, 0, 0, upright=False)
        memory.teach(photo(0, angle=40), "thing 0")
        beside = disturbed_scores(memory.gallery, memory.features, 0, 0, upright=False)
        memory.teach(thing(7), "thing 0")  # an image that is not like the others has no right answer
        unlike = int(np.flatnonzero(memory.gallery.similarity.images == 5)[0])
        found = disturbed_scores(memory.gallery, memory.features, unlike, 5, upright=False)
    np.testing.assert_array_equal(alone[0, 1, 3:], beside[0, 1, 3:])  # a copy without its class, as before
    assert alone[1, 0, 5] != beside[1, 0, 5]
    assert beside[1, 0].any()
    assert found[0, 0].any()
    assert not found[1, 0].any()
