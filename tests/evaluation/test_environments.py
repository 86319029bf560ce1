"""Latents that stand for places are found, and what a learner made of its environments is told."""

import json

import numpy as np

from everlearn.evaluation.protocols.environments import Latents, Surroundings, place_shares, surroundings
from everlearn.factors import Factors
from everlearn.learners import CCIVAE, VASE
from everlearn.rng import rng_at
from everlearn.streams import Batch, environments

N = 800
X, Y, Z = rng_at(0, "places").uniform(3 * N).reshape(3, N)
CODES = np.stack(
    [
        3 * X - 1.5,
        np.tanh(4 * (Y - 0.5)),
        (X - 0.5) * (Y - 0.5) * 4,
        X + Y + 3 * Z,
        Z,
        np.zeros(N),
    ],
    axis=1,
)


def shown(factors: Factors) -> Batch:
    return Batch(np.zeros((len(factors), 16, 16), np.uint8), np.zeros(len(factors), np.int64), factors)


def test_latents_of_places_are_found() -> None:
    straight, bent, crossed, mixed, other, still = place_shares(CODES, shown(Factors(x=X, y=Y)))
    assert straight > 0.999
    assert bent > 0.98, "a code that bends towards the edges is one all the same"
    assert crossed > 0.999
    assert 0.1 < mixed < 0.3, "2 of 11 parts of its variance"
    assert other < 0.05
    assert still == 0


def test_nothing_stands_for_places_where_nothing_moves() -> None:
    assert place_shares(CODES, shown(Factors(scale=1 + X))) == ()
    assert place_shares(CODES, Batch(np.zeros((N, 16, 16), np.uint8), np.zeros(N, np.int64))) == ()


def latents(name: str, is_open: str, used: str, place: tuple[float, ...]) -> Latents:
    return Latents(name, *(tuple(letter == "x" for letter in word) for word in (is_open, used)), place)


def test_position_latents_are_shared_and_masked() -> None:
    made = Surroundings(
        (),
        10,
        (
            latents("moving-fashion", "xxxx", "xxx.", (0.9, 0.8, 0.1, 0.9)),
            latents("mnist", ".xxx", "..xx", ()),
            latents("moving-mnist", "xxxx", "xx.x", (0.95, 0.7, 0.0, 0.2)),
        ),
    )
    assert made.shared == [0, 1], "the last one says nothing in the first environment"
    assert made.masked == [0], "the other is open where nothing moves"
    facts = made.to_json()
    assert facts["latents"][0]["places"] == [0, 1]
    assert facts["detection"] is None


def test_a_learner_is_asked_and_left_as_it_was() -> None:
    stream = environments(
        sequence=["moving-sprites", "sprites"],
        image_size=16,
        n_shapes=2,
        images_per_shape=50,
        images_per_stage=80,
    )
    learner = VASE(image_shape=(16, 16), size="tiny", n_latents=6)
    for task in stream:
        for batch in task.train.batches(20):
            learner.learn(batch)
    learner.environments.changes.append((6, 0))  # as if it had taken the second stage for the first
    before = learner.predict(stream.task(0).test.images), str(learner.state())
    facts = surroundings(learner, stream, [4, 4], size=8).to_json()
    assert (learner.predict(stream.task(0).test.images) == before[0]).all()
    assert str(learner.state()) == before[1]
    assert [stage["found"] for stage in facts["stages"]] == ["new", "missed"]
    assert facts["stages"][1]["wrong"] == 1
    assert facts["stages"][1]["delay"] is None
    assert [len(each["open"]) for each in facts["latents"]] == [6, 6]
    assert [len(each["place"]) for each in facts["latents"]] == [6, 0]
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_one_that_does_not_look_for_environments_misses_none() -> None:
    stream = environments(sequence=["sprites"], image_size=16, n_shapes=2, images_per_shape=50)
    for learner in (CCIVAE.tiny(), VASE(image_shape=(16, 16), size="tiny", environment_inference=False)):
        made = surroundings(learner, stream, [1], size=8)
        assert not made.stages
        assert all(made.latents[0].open)
