"""A learner that loses nothing and one that draws one image only: scores that are known beforehand."""

from functools import cache

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.cross_domain import Judged, Translation, translation
from everlearn.learners import CCIVAE, Learner
from everlearn.streams import environments, sprites

from .imagined import Mirror, Silent, Still

STREAM = environments(
    sequence=["moving-sprites", "moving-inverted-sprites"], image_size=16, n_shapes=2, images_per_shape=1500
)


@cache
def asked(kind: type[Mirror]) -> Translation:
    return translation(kind(), STREAM, 2, size=100)


def test_whoever_loses_nothing_is_judged_as_real_images_are() -> None:
    found = asked(Mirror)
    assert found.names == ("moving-sprites", "moving-inverted-sprites")
    assert found.environments == (0, 1)
    for k in range(2):
        assert found.outcomes[k][k] == found.judges[k]
        assert found.judges[k].there > 0.95
        assert found.judges[k].off is not None
        assert found.judges[k].off < 0.25 * found.still[k]


def test_what_is_drawn_as_the_other_shows_it_keeps_its_place_and_name_and_changes_its_looks() -> None:
    found = asked(Mirror)
    for here, there in ((0, 1), (1, 0)):
        outcome, real = found.outcomes[here][there], found.judges[there]
        assert outcome.there > 0.95
        assert outcome.off == pytest.approx(real.off, abs=0.03)
        assert outcome.kept == pytest.approx(real.kept, abs=0.1)
    shown = found.drawn[0].reshape(3, 16, 6, 16)
    np.testing.assert_array_equal(shown[0], shown[1])
    np.testing.assert_array_equal(255 - shown[0], shown[2])


def test_whoever_draws_one_image_only_is_as_far_off_as_standing_still_and_keeps_no_name() -> None:
    found = asked(Still)
    for here, there in ((0, 1), (1, 0)):
        outcome = found.outcomes[here][there]
        assert outcome.off == pytest.approx(found.still[here], abs=0.1)
        assert outcome.kept == pytest.approx(0.5, abs=0.01)
    assert found.still[0] == pytest.approx(12**-0.5, abs=0.03), "uniform over one"


def test_what_is_closed_on_either_side_is_not_carried_over() -> None:
    blind = Mirror()
    blind.masks[1, :] = False
    found = translation(blind, STREAM, 2, size=20)
    shown = found.drawn[0].reshape(3, 16, 6, 16)
    assert (shown[1] == shown[0]).all()
    assert (shown[2] == 255).all(), "the other understands nothing of it"
    back = found.drawn[1].reshape(3, 16, 6, 16)
    assert (back[1] == 0).all(), "and has nothing to say"


def test_where_the_learner_was_goes_before_what_it_would_say_now() -> None:
    moved = Mirror(n_environments=3)
    moved.changes = [(11, 2)]
    assert translation(moved, STREAM, 2, size=20, batches=[10, 10]).environments == (0, 2)
    assert translation(moved, STREAM, 2, size=20).environments == (0, 1)


def test_nothing_is_said_of_places_that_never_change_and_names_nobody_shares() -> None:
    stream = environments(
        sequence=["sprites", "inverted-sprites"], image_size=16, n_shapes=1, images_per_shape=200
    )
    found = translation(Mirror(), stream, 2, size=20)
    assert found.outcomes[0][1] == Judged(found.outcomes[0][1].there, None, None)


def test_answers_are_the_same_again_and_plain_json() -> None:
    first, again = (translation(Mirror(), STREAM, 2, size=20).to_json() for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("learner", "stream", "size", "words"),
    [
        (Silent(), STREAM, 100, "tells no environments apart"),
        (CCIVAE.tiny(), STREAM, 100, "tells no environments apart"),
        (Mirror(), sprites(image_size=16), 100, "needs two"),
        (Mirror(), STREAM, 3, "size"),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    learner: Learner, stream: "type(STREAM)", size: int, words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        translation(learner, stream, 1 if stream is not STREAM else 2, size=size)
