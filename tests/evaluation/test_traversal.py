"""Walks of a learner whose latents are pixels: each changes its own pixel and nothing else."""

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.environments import homes, views
from everlearn.evaluation.protocols.traversal import SPARE, VALUES, traversal
from everlearn.learners import CCIVAE
from everlearn.serialization import image_from_json
from everlearn.streams import environments, sprites

from .imagined import DEVIATION, Flat, Mirror, Silent

NATS_OF_NOTHING = 0.5 * (DEVIATION**2 - 1 - np.log(DEVIATION**2))


class Corner(Mirror):
    """Says for sure only what the first two pixels are; the others it knows no better than the prior."""

    def posterior(self, images):  # type: ignore[no-untyped-def]
        mean, deviation = super().posterior(images)
        mean[:, 2:], deviation[:, 2:] = 0, 1
        return mean, deviation

    def decode(self, codes, environment=0):  # type: ignore[no-untyped-def]
        return np.clip(super().decode(codes, environment), 0, 1)


def test_used_latents_come_first_and_a_few_spare_ones_stand_for_all() -> None:
    found = traversal(Corner(), Flat(), 2)
    assert found.latents == (0, 1, 2, 3)
    assert (found.n_used, found.n_spare) == (2, 254)
    assert len(found.latents) == found.n_used + SPARE
    assert [(walks.name, walks.environment) for walks in found.walks] == [("white", 0), ("black", 1)]


def test_a_walk_changes_one_latent_and_nothing_else() -> None:
    white, black = traversal(Corner(), Flat(), 2).walks
    tiles = white.images.reshape(4, 16, len(VALUES), 16).swapaxes(1, 2)
    wanted = np.round(np.clip(VALUES, 0, 1) * 255)
    np.testing.assert_array_equal(tiles[1, :, 0, 1], wanted)
    assert (tiles[1, :, 0, 0] == 255).all(), "the first pixel stays white"
    negative = black.images.reshape(4, 16, len(VALUES), 16).swapaxes(1, 2)
    np.testing.assert_array_equal(negative[1, :, 0, 1], 255 - wanted)


def test_what_is_closed_says_nothing_but_is_walked() -> None:
    learner = Corner()
    learner.masks[1, 0] = False
    white, black = traversal(learner, Flat(), 2).walks
    assert white.open.all()
    assert black.open.tolist() == [False] + [True] * 255
    assert white.nats[:3].tolist() == pytest.approx([NATS_OF_NOTHING + 0.5] * 2 + [0])
    assert black.nats[0] == 0


def test_the_image_from_which_walks_begin_can_be_chosen() -> None:
    stream = environments(sequence=["sprites"], image_size=16, n_shapes=2, images_per_shape=100)
    first, second = (traversal(Mirror(), stream, 1, image=n, size=5).walks[0].seed for n in (0, 1))
    again = traversal(Mirror(), stream, 1, image=6, size=5).walks[0].seed
    assert (first != second).any()
    np.testing.assert_array_equal(again, second)


def test_a_learner_without_environments_is_seen_with_all_latents_open() -> None:
    stream = sprites(image_size=16, factor_values=2, split=(0.5, 0.25, 0.25))
    found = traversal(CCIVAE.tiny(), stream, 2, size=20)
    (walks,) = found.walks
    assert walks.environment == 0
    assert walks.open.all()
    assert found.n_used + found.n_spare == 24


def test_json_gives_images_back() -> None:
    found = traversal(Corner(), Flat(), 1)
    told = found.to_json()["walks"][0]
    np.testing.assert_array_equal(image_from_json(told["images"]), found.walks[0].images)
    np.testing.assert_array_equal(image_from_json(told["seed"]), found.walks[0].seed)


def test_a_stage_is_where_the_learner_was_for_most_of_it() -> None:
    assert homes([], [3, 4]) == [0, 0]
    assert homes([(4, 1)], [3, 4]) == [0, 1]
    assert homes([(2, 1), (6, 0)], [4, 4]) == [1, 0]
    assert homes([(4, 1)], []) == []


def test_a_returning_stage_counts_where_it_was_met_last() -> None:
    learner = Mirror(n_environments=3)
    learner.changes = [(11, 1), (21, 2)]
    found = views(learner, Flat(), 3, 50, [10, 10, 10])
    assert [(view.scene.name, view.environment) for view in found] == [("white", 2), ("black", 1)]


def test_questions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="Silent describes and draws nothing"):
        traversal(Silent(), Flat(), 1)
    with pytest.raises(BadInput, match="image is -1"):
        traversal(Mirror(), Flat(), 1, image=-1)
    with pytest.raises(BadInput, match="size is 0"):
        traversal(Mirror(), Flat(), 1, size=0)
