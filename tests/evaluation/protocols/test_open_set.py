import json

import numpy as np
import pytest

from everlearn.evaluation.protocols.open_set import OpenSet, OpenSetResult
from everlearn.evaluation.samples import known_labels
from everlearn.streams import Stream

from .oracle_learners import N_TASKS, CanonicalPose, ConstantLearner, OracleLearner


class OracleWithPose(CanonicalPose, OracleLearner): ...


class ConstantWithPose(CanonicalPose, ConstantLearner): ...


def evaluate(learner: OracleLearner, stream: Stream) -> OpenSetResult:
    return OpenSet(n_images=30).run(learner, stream, N_TASKS)


def test_oracle_is_perfect(stream: Stream) -> None:
    result = evaluate(OracleLearner(stream), stream)
    assert (result.roc.area, result.precision_recall.area, result.acceptance.area) == (1, 1, 1)
    assert (result.threshold, result.accepted, result.rejected, result.accuracy) == (0, 1, 1, 1)
    assert result.n_known == result.n_new == 6
    assert result.to_json()["roc"] == {"area": 1.0, "x": [0.0, 0.0, 1.0], "y": [0.0, 1.0, 1.0]}
    assert ("known images accepted", 1.0) in result.table().rows


def test_constant_scores_give_chance(stream: Stream) -> None:
    result = evaluate(ConstantLearner(stream), stream)
    assert result.roc.area == result.acceptance.area == 0.5
    assert (result.accepted, result.rejected) == (1, 0)
    assert result.accuracy == pytest.approx(1 / 6)
    assert result.false_accepts == (), "it estimates no factors"


def test_one_false_accept_per_class_is_stored(stream: Stream) -> None:
    learner = ConstantWithPose(stream)
    result = evaluate(learner, stream)
    assert len(result.false_accepts) == len({accept.label for accept in result.false_accepts}) == 6
    stored = OpenSetResult.from_json(json.loads(json.dumps(result.to_json())))
    for accept, again in zip(result.false_accepts, stored.false_accepts, strict=True):
        assert accept.label not in known_labels(stream, N_TASKS)
        assert accept.predicted == learner.memory.classes()[0]
        assert learner.truth[accept.image.tobytes()] == accept.label
        np.testing.assert_array_equal(accept.exemplar, learner.memory.images_of(accept.predicted)[0])
        np.testing.assert_array_equal(accept.canonical, accept.image, "the estimated pose is canonical")
        np.testing.assert_array_equal(again.image, accept.image)


def test_no_false_accepts_if_all_new_images_are_rejected(stream: Stream) -> None:
    assert evaluate(OracleWithPose(stream), stream).false_accepts == ()
