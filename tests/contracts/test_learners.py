"""The contract of learners, tested for every learner in the registry."""

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


def train(learner: Learner, task: Task, n_batches: int = 3) -> Learner:
    view = task.for_learner()
    learner.begin(view)
    for batch in list(view.train.shuffled(0, task.index).batches(8))[:n_batches]:
        learner.learn(batch)
    learner.end(view)
    return learner


def no_label(learner: Learner) -> set[int]:
    """The prediction of a learner without labels."""
    return set() if learner.is_classifier else {-1}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def trained(name: str) -> Learner:
    return train(train(fresh(name), STREAM.task(0)), STREAM.task(1))


def test_predict_changes_no_label(trained: Learner) -> None:
    before = digest(trained.state())
    first = trained.predict(STREAM.task(0).test.images)
    second = trained.predict(STREAM.task(0).test.images)
    assert (first == second).all()
    assert digest(trained.state()) == before


def test_predictions_do_not_depend_on_the_batch(trained: Learner) -> None:
    images = STREAM.task(0).test.images
    single = np.concatenate([trained.predict(images[i : i + 1]) for i in range(len(images))])
    assert (single == trained.predict(images)).all()


def test_predict_before_learning_returns_minus_one(name: str) -> None:
    assert (fresh(name).predict(STREAM.task(0).test.images) == -1).all()


def test_predict_of_no_images(trained: Learner) -> None:
    predictions = trained.predict(STREAM.task(0).test.images[:0])
    assert predictions.shape == (0,)
    assert predictions.dtype == np.int64


def test_learn_neither_changes_nor_keeps_the_batch(name: str) -> None:
    learner, task = fresh(name), STREAM.task(0)
    batch = task.train[np.arange(8)]
    learner.begin(task.for_learner())
    learner.learn(batch)
    assert batch == task.train[np.arange(8)]
    before = digest(learner.state())
    batch.images[:] = 0
    batch.labels[:] = 0
    assert digest(learner.state()) == before


def test_seed_determines_the_state(name: str) -> None:
    one, two = (train(fresh(name, seed=5), STREAM.task(0)) for _ in range(2))
    assert digest(one.state()) == digest(two.state())


def test_learning_does_not_depend_on_global_random_numbers(name: str) -> None:
    expected = digest(train(fresh(name), STREAM.task(0)).state())
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002  (the point is to disturb it)
    assert digest(train(fresh(name), STREAM.task(0)).state()) == expected


def test_learning_does_not_change_global_random_numbers(name: str) -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    train(fresh(name), STREAM.task(0))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_state_can_be_serialized(trained: Learner, name: str) -> None:
    other = train(fresh(name), STREAM.task(3))
    other.load(unpack(pack(trained.state())))
    assert digest(other.state()) == digest(trained.state())
    images = STREAM.task(1).test.images
    assert (other.predict(images) == trained.predict(images)).all()
    assert other.footprint() == trained.footprint()
    assert other.flops == trained.flops


def test_state_is_a_copy(trained: Learner) -> None:
    state = trained.state()
    before = digest(state)
    train(trained, STREAM.task(2))
    assert digest(state) == before


@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_save_and_load_within_a_task(name: str, cut: int) -> None:
    def go(change: Callable[[Learner], Learner]) -> str:
        learner = fresh(name)
        learner = train(learner, STREAM.task(0))
        view = STREAM.task(1).for_learner()
        learner.begin(view)
        for number, batch in enumerate(list(view.train.batches(6))[:6]):
            learner.learn(batch)
            if number == cut:
                learner = change(learner)
        learner.end(view)
        return digest(learner.state())

    def reloaded(learner: Learner) -> Learner:
        other = train(fresh(name), STREAM.task(3))
        other.load(unpack(pack(learner.state())))
        return other

    assert go(lambda learner: learner) == go(reloaded)


def test_footprint_is_bounded_by_the_state(trained: Learner) -> None:
    held, state = trained.footprint(), trained.state()
    # Of weights that nothing changes a state may hold only a digest.
    frozen = trained.backbone.footprint().weights if "digest" in state.get("backbone", {}) else 0
    in_state = len(pack(state)) + frozen
    assert held.weights >= 0
    assert held.memory >= 0
    assert 0 < held.weights + held.memory <= in_state * 1.1


def test_new_labels(trained: Learner) -> None:
    task = STREAM.task(3)
    train(trained, task, n_batches=8)
    predictions = trained.predict(task.train.images)
    labels = {label for k in (0, 1, 3) for label in STREAM.task(k).labels}
    assert set(predictions.tolist()) <= labels | no_label(trained)


def test_losses_are_finite(name: str) -> None:
    learner, view = fresh(name), STREAM.task(0).for_learner()
    learner.begin(view)
    losses = learner.learn(view.train[np.arange(8)])
    assert losses
    assert all(isinstance(value, float) and np.isfinite(value) for value in losses.values())


def test_labels_may_be_any_integers(name: str) -> None:
    learner, task = fresh(name), STREAM.task(0)
    moved = {label: 10**12 + 7 * label for label in task.labels}

    def renamed(batch: Batch) -> Batch:
        return Batch(
            batch.images, np.array([moved[x] for x in batch.labels.tolist()], np.int64), batch.factors
        )

    view = Task(0, tuple(moved.values()), lambda s: renamed(task.split(s)), lambda: renamed(task.exemplars))
    train(learner, view)
    assert set(learner.predict(task.test.images).tolist()) <= set(moved.values()) | no_label(learner)


def test_learners_without_labels_encode(trained: Learner) -> None:
    if not trained.is_classifier:
        assert isinstance(trained, learners.Encodes)
        images = STREAM.task(0).test.images
        embeddings = trained.encode(images)
        assert embeddings.shape == (len(images), embeddings.shape[1])
        assert (trained.predict(images) == -1).all()
