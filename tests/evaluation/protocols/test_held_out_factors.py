import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.held_out_factors import HeldOutFactors
from everlearn.evaluation.samples import sample_tasks
from everlearn.streams import Stream, sprites

from .oracle_learners import N_TASKS, CanonicalPose, OracleLearner


class OracleWithPose(CanonicalPose, OracleLearner): ...


def test_accuracy_on_trained_and_held_out_combinations(stream: Stream) -> None:
    learner = OracleLearner(stream)
    result = HeldOutFactors().run(learner, stream, N_TASKS)
    assert (result.trained, result.held_out, result.n_held_out) == (1, 1, 9 * 6)
    assert result.held_out_errors == {}
    for image in sample_tasks(stream, N_TASKS, "held_out", 1000).images:
        learner.truth[image.tobytes()] = -2
    wrong = HeldOutFactors().run(learner, stream, N_TASKS)
    assert (wrong.trained, wrong.held_out) == (1, 0)
    assert wrong.table().rows == [("accuracy", 1.0, 0.0)]


def test_factor_errors(stream: Stream) -> None:
    result = HeldOutFactors().run(OracleWithPose(stream), stream, N_TASKS)
    factors = sample_tasks(stream, N_TASKS, "held_out", 1000).factors
    assert factors is not None
    assert result.held_out_errors["x"] == pytest.approx(np.abs(factors.x - 0.5).mean())
    assert "error of x" in [row[0] for row in result.table().rows]


def test_stream_without_held_out_combinations_is_refused(stream: Stream) -> None:
    with pytest.raises(BadInput, match="holds out no factor combinations"):
        HeldOutFactors().run(OracleLearner(stream), sprites(image_size=16, factor_values=3), N_TASKS)
