import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.latents import encode_environments, training_environments
from everlearn.learners import build
from everlearn.streams import sprites

from .mirror_learners import STD, MirrorLearner, UniformStream

STREAM = UniformStream()
KL_OF_ZERO_MEAN = 0.5 * (STD**2 - 1 - np.log(STD**2))


def test_training_environment_is_that_of_most_batches() -> None:
    assert training_environments([], [3, 4]) == [0, 0]
    assert training_environments([(4, 1)], [3, 4]) == [0, 1]
    assert training_environments([(2, 1), (6, 0)], [4, 4]) == [1, 0]
    assert training_environments([(4, 1)], []) == []


def test_environments_are_matched_by_training_or_by_inference() -> None:
    learner = MirrorLearner(n_environments=3)
    learner.changes = [(11, 1), (21, 2)]
    by_training = encode_environments(learner, STREAM, 3, 50, [10, 10, 10])
    assert [(each.name, each.environment) for each in by_training] == [("white", 2), ("black", 1)]
    by_inference = encode_environments(learner, STREAM, 3, 50)
    assert [(each.name, each.environment) for each in by_inference] == [("white", 0), ("black", 1)]


def test_new_looking_images_are_matched_by_probability() -> None:
    learner = MirrorLearner()
    learner.infer_environment = lambda images: -1  # type: ignore[method-assign]
    assert [each.environment for each in encode_environments(learner, STREAM, 2, 50)] == [0, 1]


def test_masked_latents_follow_the_prior() -> None:
    learner = MirrorLearner()
    learner.masks[1, 0] = False
    white, black = encode_environments(learner, STREAM, 2, 50)
    assert white.active.all()
    assert black.active.tolist() == [False] + [True] * 255
    assert white.kl[:2] == pytest.approx([KL_OF_ZERO_MEAN + 0.5] * 2)
    assert (black.kl[0], black.used[0]) == (0, False)


def test_learner_without_environment_inference_has_all_latents_active() -> None:
    stream = sprites(image_size=16, factor_values=2, split=(0.5, 0.25, 0.25))
    (encoded,) = encode_environments(
        build("cci-vae", image_shape=(16, 16), seed=0, size="tiny"), stream, 2, 20
    )
    assert encoded.environment == 0
    assert encoded.active.all()


def test_too_few_environments_are_refused() -> None:
    with pytest.raises(BadInput, match="needs two"):
        encode_environments(MirrorLearner(), STREAM, 1, 50, at_least=2)
