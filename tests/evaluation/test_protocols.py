"""Protocols judged by learners whose answers are known beforehand."""

import copy
import json
from collections.abc import Iterator

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import editable_memory, held_out_factors, one_shot, open_set, rejecting
from everlearn.evaluation.protocols.base import known_labels, some_tasks, spread, strangers
from everlearn.factors import Factors
from everlearn.learners import Footprint, Learner, Losses, State, build
from everlearn.memory import ExemplarMemory
from everlearn.rng import FloatArray, IntArray
from everlearn.serialization import image_from_json
from everlearn.streams import Batch, Stream, sprites
from everlearn.streams.stream import Images

SMALL = {"image_size": 16, "factor_values": 3, "classes_per_task": 3}
N_TASKS = 2


class Seer(Learner):
    """Reads the truth off the stream, but answers only with classes it remembers."""

    def __init__(self, stream: Stream, n_tasks: int = 40) -> None:
        super().__init__(image_shape=stream.image_shape)
        self.memory = ExemplarMemory()
        batches = (batch for task in stream.take(n_tasks) for batch in (task.test, task.val, task.held_out))
        self.truth = {
            image.tobytes(): int(label)
            for batch in batches
            for image, label in zip(batch.images, batch.labels, strict=True)
        }

    def learn(self, batch: Batch) -> Losses:
        return {}

    def true_labels(self, images: Images) -> Iterator[int]:
        return (self.truth[image.tobytes()] for image in images)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.array([label if label in self.memory else -1 for label in self.true_labels(images)])

    def novelty(self, images: Images) -> FloatArray:
        return np.array([float(label not in self.memory) for label in self.true_labels(images)])

    def state(self) -> State:
        return {"memory": self.memory.state()}

    def load(self, state: State) -> None:
        self.memory.load(state["memory"])

    def footprint(self) -> Footprint:
        return Footprint(weights=0, memory=self.memory.nbytes)


class First(Seer):
    """Always answers with the smallest label it remembers, and finds everything equally new."""

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.full(len(images), self.memory.classes()[0])

    def novelty(self, images: Images) -> FloatArray:
        return np.zeros(len(images))


class Posed(Seer):
    """Estimates every pose as canonical."""

    def estimate(self, images: Images) -> Factors:
        return Factors(scale=np.ones(len(images)))


class Credulous(First):
    """As `First`, and sees every pose as canonical."""

    def estimate(self, images: Images) -> Factors:
        return Factors(scale=np.ones(len(images)))


@pytest.fixture(scope="module")
def stream() -> Stream:
    return sprites(**SMALL, held_out=9)


def taught(learner: Seer, stream: Stream) -> Seer:
    for task in stream.take(N_TASKS):
        learner.memory.add(task.exemplars)
    return learner


def test_one_shot_of_a_seer_is_perfect(stream: Stream) -> None:
    found = one_shot(taught(Seer(stream), stream), stream, N_TASKS, counts=(2, 6, 20), size=40)
    assert found.n_old == 6
    assert [shots.n_new for shots in found.shots] == [2, 6, 20]
    assert all((s.standard, s.generalised, s.old) == (1, 1, 1) for s in found.shots)
    assert [shots.n_images for shots in found.shots] == [
        2,
        6,
        20,
    ]  # one test image a class on this small grid


def test_one_shot_of_a_constant_is_chance(stream: Stream) -> None:
    """Alone, the first new class is always the answer; beside old ones, an old one is."""
    (shots,) = one_shot(taught(First(stream), stream), stream, N_TASKS, counts=(4,)).shots
    assert (shots.standard, shots.generalised) == (1 / 4, 0)
    assert shots.old == pytest.approx(1 / 6)


def test_one_shot_leaves_the_learner_as_it_was(stream: Stream) -> None:
    learner = taught(Seer(stream), stream)
    before = copy.deepcopy(learner.state())
    one_shot(learner, stream, N_TASKS, counts=(5,))
    after = learner.state()
    assert after["memory"]["metadata"] == before["memory"]["metadata"]
    for name, array in before["memory"]["arrays"].items():
        np.testing.assert_array_equal(after["memory"]["arrays"][name], array)


def test_one_shot_with_the_real_learner(stream: Stream) -> None:
    """An untrained DCL recognises each image it was shown, and is not changed by being asked."""
    learner = build("dcl", image_shape=(16, 16), seed=0, width=4)
    for task in stream.take(N_TASKS):
        editable_memory(learner).add(task.exemplars)
    probe = stream.eval_sample(N_TASKS, 50).images
    before = learner.predict(probe)
    found = one_shot(learner, stream, N_TASKS, counts=(3,), size=30)
    assert 0 <= found.shots[0].generalised <= found.shots[0].standard <= 1
    np.testing.assert_array_equal(learner.predict(probe), before)


def test_open_set_of_a_seer_is_perfect(stream: Stream) -> None:
    found = open_set(taught(Seer(stream), stream), stream, N_TASKS, size=30)
    assert (found.roc.area, found.precision_recall.area, found.acceptance.area) == (1, 1, 1)
    assert (found.threshold, found.accepted, found.rejected, found.accuracy) == (0, 1, 1, 1)
    assert found.n_known == found.n_new == 6


def test_of_each_new_class_that_is_accepted_one_image_is_shown(stream: Stream) -> None:
    learner = taught(Credulous(stream), stream)
    found = open_set(learner, stream, N_TASKS, size=30)
    assert len(found.mistakes) == len({mistake.label for mistake in found.mistakes}) == 6
    known = set(known_labels(stream, N_TASKS))
    for mistake in found.mistakes:
        assert mistake.label not in known
        assert mistake.taken_for == learner.memory.classes()[0]
        assert learner.truth[mistake.image.tobytes()] == mistake.label
        np.testing.assert_array_equal(mistake.exemplar, learner.memory.images_of(mistake.taken_for)[0])
        np.testing.assert_array_equal(mistake.normalised, mistake.image)  # canonical, so nothing moves
        told = json.loads(json.dumps(mistake.to_json()))
        np.testing.assert_array_equal(image_from_json(told["image"]), mistake.image)


def test_who_rejects_all_that_is_new_makes_no_mistake(stream: Stream) -> None:
    assert open_set(taught(Posed(stream), stream), stream, N_TASKS, size=30).mistakes == ()


def test_open_set_of_one_who_sees_no_difference_is_a_coin(stream: Stream) -> None:
    found = open_set(taught(First(stream), stream), stream, N_TASKS, size=30)
    assert found.roc.area == found.acceptance.area == 0.5
    assert (found.accepted, found.rejected) == (1, 0)
    assert found.accuracy == pytest.approx(1 / 6)


def test_answers_are_plain_json(stream: Stream) -> None:
    learner = taught(Seer(stream), stream)
    facts = open_set(learner, stream, N_TASKS, size=30).to_json()
    assert facts["roc"] == {"area": 1.0, "x": [0.0, 0.0, 1.0], "y": [0.0, 1.0, 1.0]}
    assert one_shot(learner, stream, N_TASKS, counts=(2,)).to_json()["shots"][0]["n_new"] == 2
    assert set(held_out_factors(learner, stream, N_TASKS).to_json()) >= {
        "trained",
        "held_out",
        "held_out_errors",
    }


def test_transfer_tells_trained_from_held_out(stream: Stream) -> None:
    learner = taught(Seer(stream), stream)
    found = held_out_factors(learner, stream, N_TASKS)
    assert (found.trained, found.held_out) == (1, 1)
    assert found.n_held_out == 9 * 6
    for image in some_tasks(stream, N_TASKS, "held_out", 1000).images:
        learner.truth[image.tobytes()] = -2
    assert held_out_factors(learner, stream, N_TASKS).held_out == 0
    assert found.held_out_errors == {}


def test_transfer_measures_errors_in_each_factor(stream: Stream) -> None:
    found = held_out_factors(taught(Posed(stream), stream), stream, N_TASKS)
    held_out = some_tasks(stream, N_TASKS, "held_out", 1000).factors
    assert held_out is not None
    assert found.held_out_errors["x"] == pytest.approx(np.abs(held_out.x - 0.5).mean())


def test_strangers_are_new_and_as_many_as_asked(stream: Stream) -> None:
    labels = np.concatenate([new for _, new in strangers(stream, N_TASKS, 7)])
    assert len(labels) == len(set(labels.tolist())) == 7
    assert not known_labels(stream, N_TASKS) & set(labels.tolist())


@pytest.mark.parametrize("size", [1, 5, 100])
def test_spread_takes_distinct_rows_evenly(size: int) -> None:
    batch = Batch(np.zeros((20, 2, 2), np.uint8), np.arange(20))
    taken = spread(batch, size).labels
    assert len(taken) == min(size, 20)
    assert (np.diff(taken) > 0).all()


def test_a_stream_without_new_classes_is_refused() -> None:
    repeating = sprites(**SMALL, scenario="domain-incremental")
    ended = sprites(**SMALL, n_tasks=3)
    for given in (repeating, ended):
        learner = taught(Seer(given, 3), given)
        with pytest.raises(BadInput, match=r"has \d classes left after 2 tasks, not 10"):
            one_shot(learner, given, N_TASKS, counts=(10,))


def test_learners_without_the_power_get_a_sentence(stream: Stream) -> None:
    er = build("er", image_shape=(16, 16), seed=0)
    with pytest.raises(BadInput, match="ER keeps no memory that can be edited"):
        one_shot(er, stream, N_TASKS)
    with pytest.raises(BadInput, match="ER cannot say that it does not know"):
        rejecting(er)
    with pytest.raises(BadInput, match="holds no factor combinations out"):
        held_out_factors(er, sprites(**SMALL), N_TASKS)


@pytest.mark.parametrize("counts", [(0,), (-1,), (10, 100_001)])
def test_impossible_counts_are_refused(stream: Stream, counts: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="new classes cannot be asked for"):
        one_shot(taught(Seer(stream), stream), stream, N_TASKS, counts=counts)
