"""White images fade into black ones for a learner whose doubt is known, and so when it ends."""

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.ambiguity import BATCH, MIXED, WEIGHTS, Curve, Flip, ambiguity, flip
from everlearn.learners import Learner
from everlearn.streams import sprites

from .imagined import DEVIATION, Flat, Mirror, Sigmoid, Silent


@pytest.fixture(scope="module")
def curves() -> tuple[Curve, ...]:
    return ambiguity(Sigmoid(), Flat(), 2, size=BATCH).curves


def expected(n_mixed: int, context: float) -> list[float]:
    """Decisions for white by the average over a batch, computed by hand."""
    levels = np.round(WEIGHTS * 255) / 255
    mean = (n_mixed * Sigmoid.sure(levels) + (BATCH - n_mixed) * Sigmoid.sure(context)) / BATCH
    return (mean > 0.5).astype(float).tolist()


def test_alone_the_mind_changes_where_the_learner_is_half_sure(curves: tuple[Curve, ...]) -> None:
    alone = curves[0]
    assert (alone.context, alone.n_mixed) == ("", BATCH)
    assert list(alone.decided) == (WEIGHTS > Sigmoid.HALF).astype(float).tolist()
    assert alone.flip == Flip(0.6125, 0.02)


def test_company_moves_the_decision_by_just_as_much_as_it_weighs(curves: tuple[Curve, ...]) -> None:
    assert [(curve.context, curve.n_mixed) for curve in curves[1:]] == [
        (context, n) for context in ("white", "black") for n in MIXED
    ]
    for curve in curves[1:]:
        assert list(curve.decided) == expected(curve.n_mixed, float(curve.context == "white"))
    points = {(curve.context, curve.n_mixed): curve.flip for curve in curves}
    white, black = points["white", 40], points["black", 40]
    assert white is not None
    assert black is not None
    assert white.point < 0.6125 < black.point
    assert points["white", 8] is None, "so much white among it that no batch is black"


def test_what_is_told_of_single_images_and_latents() -> None:
    learner = Sigmoid()
    found = ambiguity(learner, Flat(), 2, size=BATCH, between=("black", "white"))
    assert found.names == ("black", "white")
    assert found.environments == (1, 0)
    levels = np.round((1 - WEIGHTS) * 255) / 255
    np.testing.assert_allclose(found.chances, 1 - Sigmoid.sure(levels), atol=1e-6)
    assert found.examples.shape == (3 * 16, 9 * 16)
    assert found.deviations == (None, None), "both use all latents alike"


def test_only_latents_that_one_of_both_uses_speak_of_doubt() -> None:
    learner = Sigmoid()
    learner.masks[1, :8] = False
    found = ambiguity(learner, Flat(), 2, size=BATCH)
    assert found.deviations == ((DEVIATION,) * len(WEIGHTS), None)


@pytest.mark.parametrize(
    ("decided", "found"),
    [
        ([0.0, 0.2, 0.8, 1.0], Flip(0.5, 0.666666)),
        ([0.0, 0.0, 0.0, 1.0], Flip(0.833333, 0.266667)),
        ([0.0, 0.0, 0.0, 0.4], None),
        ([0.0, 0.0, 0.6, 0.8], None),
        ([1.0, 1.0, 1.0, 1.0], None),
        ([0.2, 0.2, 1.0, 1.0], None),
    ],
)
def test_flip_of_decisions_worked_by_hand(decided: list[float], found: Flip | None) -> None:
    assert flip(np.linspace(0, 1, 4), np.array(decided)) == found


@pytest.mark.parametrize(
    ("learner", "n_tasks", "settings", "words"),
    [
        (Silent(), 2, {}, "tells no environments apart"),
        (Mirror(), 1, {}, "needs two"),
        (Mirror(), 2, {"between": ("white", "blck")}, "did you mean 'black'"),
        (Mirror(), 2, {"between": ("white",)}, "two environments"),
        (Mirror(), 2, {"between": ("white", "white")}, "two environments"),
        (Mirror(), 2, {"size": 10}, "size"),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    learner: Learner, n_tasks: int, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        ambiguity(learner, Flat(), n_tasks, **settings)  # type: ignore[arg-type]


def test_a_stream_without_environments_is_refused() -> None:
    with pytest.raises(BadInput, match="needs two"):
        ambiguity(Mirror(), sprites(image_size=16), 3)
