"""White images mixed with black ones, for a learner with known probabilities."""

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.ambiguity import (
    BATCH_SIZE,
    N_MIXED,
    WEIGHTS,
    Ambiguity,
    AmbiguityResult,
    Transition,
    transition,
)
from everlearn.learners import Learner
from tests.evaluation.mirror_learners import (
    STD,
    EmptyLearner,
    MirrorLearner,
    SigmoidLearner,
    UniformStream,
)

STREAM = UniformStream()
PROTOCOL = Ambiguity(n_images=BATCH_SIZE)


@pytest.fixture(scope="module")
def result() -> AmbiguityResult:
    return PROTOCOL.run(SigmoidLearner(), STREAM, 2)


def expected(n_mixed: int, context: float) -> list[float]:
    """Decisions for white by the mean probability of a batch."""
    levels = np.round(WEIGHTS * 255) / 255
    mixed, other = SigmoidLearner.probability(levels), SigmoidLearner.probability(context)
    mean = (n_mixed * mixed + (BATCH_SIZE - n_mixed) * other) / BATCH_SIZE
    return (mean > 0.5).astype(float).tolist()


def test_decision_without_context_changes_at_probability_one_half(result: AmbiguityResult) -> None:
    curve = result.without_context
    assert curve == result.curves[0]
    assert (curve.context, curve.n_mixed) == ("", BATCH_SIZE)
    assert list(curve.decided) == (WEIGHTS > SigmoidLearner.HALF).astype(float).tolist()
    assert curve.transition == Transition(point=0.6125, width=0.02)
    assert result.table().rows[0] == (None, BATCH_SIZE, 0.6125, 0.02)


def test_context_shifts_the_decision(result: AmbiguityResult) -> None:
    assert [(curve.context, curve.n_mixed) for curve in result.curves[1:]] == [
        (context, n) for context in ("white", "black") for n in N_MIXED
    ]
    for curve in result.curves[1:]:
        assert list(curve.decided) == expected(curve.n_mixed, float(curve.context == "white"))
    found = {(curve.context, curve.n_mixed): curve.transition for curve in result.curves}
    white, black = found["white", 40], found["black", 40]
    assert white is not None
    assert black is not None
    assert white.point < 0.6125 < black.point
    assert found["white", 8] is None, "with so many white images every batch is white"


def test_probabilities_and_examples_of_chosen_environments() -> None:
    result = Ambiguity(n_images=BATCH_SIZE, between="black,white").run(SigmoidLearner(), STREAM, 2)
    assert (result.names, result.environments) == (("black", "white"), (1, 0))
    levels = np.round((1 - WEIGHTS) * 255) / 255
    np.testing.assert_allclose(result.probabilities, 1 - SigmoidLearner.probability(levels), atol=1e-6)
    assert result.examples.shape == (3 * 16, 9 * 16)
    assert result.stds == (None, None), "both use the same latents"


def test_stds_of_latents_used_in_one_environment_only() -> None:
    learner = SigmoidLearner()
    learner.masks[1, :8] = False
    assert PROTOCOL.run(learner, STREAM, 2).stds == ((STD,) * len(WEIGHTS), None)


def test_transition_worked_by_hand() -> None:
    def find(*decided: float) -> Transition | None:
        return transition(np.linspace(0, 1, 4), np.array(decided))

    assert find(0.0, 0.2, 0.8, 1.0) == Transition(point=0.5, width=0.666666)
    assert find(0.0, 0.0, 0.0, 1.0) == Transition(point=0.833333, width=0.266667)
    for never in ((0.0, 0.0, 0.0, 0.4), (0.0, 0.0, 0.6, 0.8), (1.0, 1.0, 1.0, 1.0), (0.2, 0.2, 1.0, 1.0)):
        assert find(*never) is None


@pytest.mark.parametrize(
    ("learner", "n_tasks", "options", "message"),
    [
        (EmptyLearner(), 2, {}, "does not infer environments"),
        (MirrorLearner(), 1, {}, "needs two"),
        (MirrorLearner(), 2, {"between": ("white", "blck")}, "did you mean 'black'"),
        (MirrorLearner(), 2, {"between": ("white", "white")}, "two different environments"),
        (MirrorLearner(), 2, {"n_images": 10}, "n_images is 10"),
    ],
)
def test_invalid_use_is_refused(
    learner: Learner, n_tasks: int, options: dict[str, object], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        Ambiguity(**options).run(learner, STREAM, n_tasks)
