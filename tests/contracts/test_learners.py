"""What every learner promises; a new file in learners/ is tested here without being named."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from everlearn import learners
from everlearn.learners import Learner
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch, Task, sprites

NAMES = learners.names()
STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2, n_tasks=4)


def fresh(name: str, seed: int = 0) -> Learner:
    return learners.learner_class(name).tiny(image_shape=STREAM.image_shape, seed=seed)


def teach(learner: Learner, task: Task, n_batches: int = 3) -> Learner:
    view = task.for_learner()
    learner.begin(view)
    for batch in list(view.train.shuffled(0, task.index).batches(8))[:n_batches]:
        learner.learn(batch)
    learner.end(view)
    return learner


def nothing(learner: Learner) -> set[int]:
    """The answer of a learner that was never told a name."""
    return set() if learner.is_classifier else {-1}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def taught(name: str) -> Learner:
    return teach(teach(fresh(name), STREAM.task(0)), STREAM.task(1))


def test_predict_changes_nothing(taught: Learner) -> None:
    before = digest(taught.state())
    first = taught.predict(STREAM.task(0).test.images)
    second = taught.predict(STREAM.task(0).test.images)
    assert (first == second).all()
    assert digest(taught.state()) == before


def test_an_answer_does_not_depend_on_its_neighbours(taught: Learner) -> None:
    images = STREAM.task(0).test.images
    alone = np.concatenate([taught.predict(images[i : i + 1]) for i in range(len(images))])
    assert (alone == taught.predict(images)).all()


def test_predicting_before_learning_answers_minus_one(name: str) -> None:
    assert (fresh(name).predict(STREAM.task(0).test.images) == -1).all()


def test_no_images_no_answers(taught: Learner) -> None:
    answers = taught.predict(STREAM.task(0).test.images[:0])
    assert answers.shape == (0,)
    assert answers.dtype == np.int64


def test_the_batch_is_left_alone_and_not_kept(name: str) -> None:
    learner, task = fresh(name), STREAM.task(0)
    batch = task.train[np.arange(8)]
    learner.begin(task.for_learner())
    learner.learn(batch)
    assert batch == task.train[np.arange(8)]
    before = digest(learner.state())
    batch.images[:] = 0
    batch.labels[:] = 0
    assert digest(learner.state()) == before


def test_same_seed_same_learner(name: str) -> None:
    one, two = (teach(fresh(name, seed=5), STREAM.task(0)) for _ in range(2))
    assert digest(one.state()) == digest(two.state())


def test_global_random_numbers_do_not_matter(name: str) -> None:
    calm = digest(teach(fresh(name), STREAM.task(0)).state())
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002  (the point is to disturb it)
    assert digest(teach(fresh(name), STREAM.task(0)).state()) == calm


def test_learning_does_not_touch_global_random_numbers(name: str) -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    teach(fresh(name), STREAM.task(0))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_state_survives_bytes(taught: Learner, name: str) -> None:
    other = teach(fresh(name), STREAM.task(3))
    other.load(unpack(pack(taught.state())))
    assert digest(other.state()) == digest(taught.state())
    images = STREAM.task(1).test.images
    assert (other.predict(images) == taught.predict(images)).all()
    assert other.footprint() == taught.footprint()
    assert other.flops == taught.flops


def test_a_saved_state_does_not_move_with_the_learner(taught: Learner) -> None:
    state = taught.state()
    before = digest(state)
    teach(taught, STREAM.task(2))
    assert digest(state) == before


@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_save_load_continue_equals_no_break(name: str, cut: int) -> None:
    def go(change: Callable[[Learner], Learner]) -> str:
        learner = fresh(name)
        learner = teach(learner, STREAM.task(0))
        view = STREAM.task(1).for_learner()
        learner.begin(view)
        for number, batch in enumerate(list(view.train.batches(6))[:6]):
            learner.learn(batch)
            if number == cut:
                learner = change(learner)
        learner.end(view)
        return digest(learner.state())

    def reloaded(learner: Learner) -> Learner:
        other = teach(fresh(name), STREAM.task(3))
        other.load(unpack(pack(learner.state())))
        return other

    assert go(lambda learner: learner) == go(reloaded)


def test_footprint_counts_what_is_held(taught: Learner) -> None:
    held, state = taught.footprint(), taught.state()
    # Of weights that nothing changes a state may hold only a digest.
    frozen = taught.backbone.footprint().weights if "digest" in state.get("backbone", {}) else 0
    in_state = len(pack(state)) + frozen
    assert held.weights >= 0
    assert held.memory >= 0
    assert 0 < held.weights + held.memory <= in_state * 1.1


def test_new_labels_are_welcome(taught: Learner) -> None:
    task = STREAM.task(3)
    teach(taught, task, n_batches=8)
    answers = taught.predict(task.train.images)
    assert set(answers.tolist()) <= {label for k in (0, 1, 3) for label in STREAM.task(k).labels} | nothing(
        taught
    )


def test_losses_are_finite_numbers(name: str) -> None:
    learner, view = fresh(name), STREAM.task(0).for_learner()
    learner.begin(view)
    losses = learner.learn(view.train[np.arange(8)])
    assert losses
    assert all(isinstance(value, float) and np.isfinite(value) for value in losses.values())


def test_labels_may_be_any_numbers(name: str) -> None:
    learner, task = fresh(name), STREAM.task(0)
    moved = {label: 10**12 + 7 * label for label in task.labels}

    def renamed(batch: Batch) -> Batch:
        return Batch(
            batch.images, np.array([moved[x] for x in batch.labels.tolist()], np.int64), batch.factors
        )

    view = Task(0, tuple(moved.values()), lambda s: renamed(task.split(s)), lambda: renamed(task.exemplars))
    teach(learner, view)
    assert set(learner.predict(task.test.images).tolist()) <= set(moved.values()) | nothing(learner)


def test_who_does_not_answer_can_be_asked_for_codes(taught: Learner) -> None:
    if not taught.is_classifier:
        assert isinstance(taught, learners.Encodes)
        images = STREAM.task(0).test.images
        codes = taught.encode(images)
        assert codes.shape == (len(images), codes.shape[1])
        assert (taught.predict(images) == -1).all()
