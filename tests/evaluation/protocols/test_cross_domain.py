"""Cross-domain reconstruction of a lossless learner, and of one that decodes a single image."""

from functools import cache

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.cross_domain import CrossDomain, CrossDomainResult, OracleScores
from everlearn.learners import Learner, build
from everlearn.streams import Stream, environments, sprites
from tests.evaluation.mirror_learners import ConstantDecoder, EmptyLearner, MirrorLearner

STREAM = environments(
    sequence=["moving-sprites", "moving-inverted-sprites"], image_size=16, n_shapes=2, images_per_shape=1500
)


@cache
def evaluate(learner: type[MirrorLearner]) -> CrossDomainResult:
    return CrossDomain(n_images=100).run(learner(), STREAM, 2)


def test_lossless_reconstructions_score_like_real_images() -> None:
    result = evaluate(MirrorLearner)
    assert result.names == ("moving-sprites", "moving-inverted-sprites")
    assert result.environments == (0, 1)
    for k in range(2):
        assert result.scores[k][k] == result.real[k]
        assert result.real[k].environment_accuracy > 0.95
        assert result.real[k].position_error is not None
        assert result.real[k].position_error < 0.25 * result.position_std[k]


def test_other_environment_keeps_position_and_label() -> None:
    result = evaluate(MirrorLearner)
    for source, target in ((0, 1), (1, 0)):
        scores, real = result.scores[source][target], result.real[target]
        assert scores.environment_accuracy > 0.95
        assert scores.position_error == pytest.approx(real.position_error, abs=0.03)
        assert scores.label_accuracy == pytest.approx(real.label_accuracy, abs=0.1)
    rows = result.images[0].reshape(3, 16, 6, 16)
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(255 - rows[0], rows[2])


def test_constant_decoder_scores_like_a_constant_position() -> None:
    result = evaluate(ConstantDecoder)
    for source, target in ((0, 1), (1, 0)):
        scores = result.scores[source][target]
        assert scores.position_error == pytest.approx(result.position_std[source], abs=0.1)
        assert scores.label_accuracy == pytest.approx(0.5, abs=0.01)
    assert result.position_std[0] == pytest.approx(12**-0.5, abs=0.03), "uniform over one"


def test_latents_masked_in_either_environment_are_not_decoded() -> None:
    learner = MirrorLearner()
    learner.masks[1] = False
    result = CrossDomain(n_images=20).run(learner, STREAM, 2)
    first, second = (images.reshape(3, 16, 6, 16) for images in result.images)
    assert (first[1] == first[0]).all()
    assert (first[2] == 255).all()
    assert (second[1] == 0).all()


def test_scores_that_do_not_apply_are_none() -> None:
    stream = environments(
        sequence=["sprites", "inverted-sprites"], image_size=16, n_shapes=1, images_per_shape=200
    )
    result = CrossDomain(n_images=20).run(MirrorLearner(), stream, 2)
    assert np.isnan(result.matrix("position_error")).all()
    assert np.isnan(result.matrix("label_accuracy")).all()
    assert isinstance(result.scores[0][1], OracleScores)
    assert result.table().rows[1][:2] == ("sprites", "inverted-sprites")


def test_result_is_deterministic_json() -> None:
    first, again = (CrossDomain(n_images=20).run(MirrorLearner(), STREAM, 2).to_json() for _ in range(2))
    assert first == again
    assert CrossDomainResult.from_json(first).to_json() == first


@pytest.mark.parametrize(
    ("learner", "stream", "message"),
    [
        (EmptyLearner(), STREAM, "does not infer environments"),
        (build("cci-vae", image_shape=(16, 16), seed=0, size="tiny"), STREAM, "does not infer environments"),
        (MirrorLearner(), sprites(image_size=16), "needs two"),
    ],
)
def test_invalid_use_is_refused(learner: Learner, stream: Stream, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        CrossDomain().run(learner, stream, 2)
    with pytest.raises(BadInput, match="n_images is 3"):
        CrossDomain(n_images=3)
