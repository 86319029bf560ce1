"""Traversals of a learner whose latents are pixels."""

import json

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.traversal import N_UNUSED, VALUES, Traversal, TraversalResult
from everlearn.rng import FloatArray
from everlearn.streams import environments
from everlearn.streams.stream import Images
from tests.evaluation.mirror_learners import EmptyLearner, MirrorLearner, UniformStream

STREAM = UniformStream()


class TwoLatents(MirrorLearner):
    """Uses the first two pixels only; all other latents follow the prior."""

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        mean, std = super().posterior(images)
        mean[:, 2:], std[:, 2:] = 0, 1
        return mean, std

    def decode(self, latents: FloatArray, environment: int = 0) -> FloatArray:
        return np.clip(super().decode(latents, environment), 0, 1)


def test_used_latents_come_first() -> None:
    result = Traversal().run(TwoLatents(), STREAM, 2)
    assert result.latents == (0, 1, 2, 3)
    assert (result.n_used, result.n_unused) == (2, 254)
    assert len(result.latents) == result.n_used + N_UNUSED
    assert result.table().rows == [("white", 0, "0, 1"), ("black", 1, "0, 1")]
    assert [result.is_shared(latent) for latent in result.latents] == [True, True, False, False]


def test_only_the_traversed_latent_changes() -> None:
    white, black = Traversal().run(TwoLatents(), STREAM, 2).environments
    tiles = white.images.reshape(4, 16, len(VALUES), 16).swapaxes(1, 2)
    expected = np.round(np.clip(VALUES, 0, 1) * 255)
    np.testing.assert_array_equal(tiles[1, :, 0, 1], expected)
    assert (tiles[1, :, 0, 0] == 255).all(), "the first pixel stays white"
    negative = black.images.reshape(4, 16, len(VALUES), 16).swapaxes(1, 2)
    np.testing.assert_array_equal(negative[1, :, 0, 1], 255 - expected)


def test_masked_latents_are_traversed() -> None:
    learner = TwoLatents()
    learner.masks[1, 0] = False
    white, black = Traversal().run(learner, STREAM, 2).environments
    assert [each.state(0) for each in (white, black)] == ["used", "masked"]
    assert white.state(2) == "active"
    assert black.images.shape == white.images.shape


def test_image_index_is_taken_modulo_the_number_of_images() -> None:
    stream = environments(sequence=["sprites"], image_size=16, n_shapes=2, images_per_shape=100)
    first, second, again = (
        Traversal(image=n, n_images=5).run(MirrorLearner(), stream, 1).environments[0].image
        for n in (0, 1, 6)
    )
    assert (first != second).any()
    np.testing.assert_array_equal(again, second)


def test_json_keeps_images() -> None:
    result = Traversal().run(TwoLatents(), STREAM, 1)
    again = TraversalResult.from_json(json.loads(json.dumps(result.to_json())))
    for name in ("images", "image"):
        stored, computed = (getattr(each.environments[0], name) for each in (again, result))
        np.testing.assert_array_equal(stored, computed)


def test_invalid_use_is_refused() -> None:
    with pytest.raises(BadInput, match="EmptyLearner has no posterior over latents"):
        Traversal().run(EmptyLearner(), STREAM, 1)
    with pytest.raises(BadInput, match="image is -1"):
        Traversal(image=-1)
