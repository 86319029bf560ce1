"""The contract of learners, tested for every learner in the registry."""

from functools import cache

import numpy as np
import pytest
import torch

from everlearn import learners
from everlearn.learners import Learner
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch, Task, sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2, n_tasks=4)
IMAGES = STREAM.task(0).test.images
CUTS = (0, 1, 2, 5)
"""Batches of a task after which a learner is saved and loaded."""


def fresh(name: str, seed: int = 0) -> Learner:
    return learners.learner_class(name).tiny(image_shape=STREAM.image_shape, seed=seed)


def train(learner: Learner, task: Task, n_batches: int = 3) -> Learner:
    view = task.for_learner()
    learner.begin(view)
    for batch in list(view.train.shuffled(0, task.index).batches(8))[:n_batches]:
        learner.learn(batch)
    learner.end(view)
    return learner


@cache
def state_after(name: str, *tasks: int) -> bytes:
    learner = fresh(name)
    for k in tasks:
        train(learner, STREAM.task(k))
    return pack(learner.state())


def loaded(name: str, state: bytes) -> Learner:
    """A learner with a state, which had another one before."""
    learner = fresh(name)
    learner.load(unpack(state_after(name, 3)))
    learner.load(unpack(state))
    return learner


def no_label(learner: Learner) -> set[int]:
    """The prediction of a learner without labels."""
    return set() if learner.is_classifier else {-1}


@pytest.fixture(params=learners.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def trained(name: str) -> Learner:
    return loaded(name, state_after(name, 0, 1))


def test_predict(trained: Learner, name: str) -> None:
    assert (fresh(name).predict(IMAGES) == -1).all(), "before anything is learned"
    before, predictions = digest(trained.state()), trained.predict(IMAGES)
    single = np.concatenate([trained.predict(IMAGES[i : i + 1]) for i in range(len(IMAGES))])
    assert (single == predictions).all(), "predictions do not depend on the batch"
    none = trained.predict(IMAGES[:0])
    assert (none.shape, none.dtype) == ((0,), np.int64)
    assert digest(trained.state()) == before, "predicting changes no state"
    if not trained.is_classifier:
        assert isinstance(trained, learners.Encodes)
        assert trained.encode(IMAGES).ndim == 2
        assert (predictions == -1).all()


def test_learn_neither_changes_nor_keeps_the_batch(name: str) -> None:
    learner, task = fresh(name), STREAM.task(0)
    batch = task.train[np.arange(8)]
    learner.begin(task.for_learner())
    losses = learner.learn(batch)
    assert losses
    assert all(isinstance(value, float) and np.isfinite(value) for value in losses.values())
    assert batch == task.train[np.arange(8)]
    before = digest(learner.state())
    batch.images[:] = 0
    batch.labels[:] = 0
    assert digest(learner.state()) == before


def test_seed_determines_the_state_and_global_random_numbers_do_not(name: str) -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one = train(fresh(name, seed=5), STREAM.task(0))
    assert torch.equal(torch.random.get_rng_state(), before), "they are not changed"
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002  (the point is to disturb it)
    two = train(fresh(name, seed=5), STREAM.task(0))
    assert digest(one.state()) == digest(two.state())


def test_state_can_be_serialized(name: str) -> None:
    learner = train(train(fresh(name), STREAM.task(0)), STREAM.task(1))
    state = learner.state()
    other, before = loaded(name, pack(state)), digest(state)
    assert digest(other.state()) == before
    assert (other.predict(IMAGES) == learner.predict(IMAGES)).all()
    assert other.footprint() == learner.footprint()
    assert other.flops == learner.flops
    train(learner, STREAM.task(2))
    assert digest(state) == before, "a state is a copy"


def test_save_and_load_within_a_task(name: str) -> None:
    def state(*, cuts: tuple[int, ...]) -> str:
        learner = train(fresh(name), STREAM.task(0))
        view = STREAM.task(1).for_learner()
        learner.begin(view)
        for number, batch in enumerate(list(view.train.batches(6))[: CUTS[-1] + 1]):
            learner.learn(batch)
            if number in cuts:
                learner = loaded(name, pack(learner.state()))
        learner.end(view)
        return digest(learner.state())

    assert state(cuts=CUTS) == state(cuts=())


def test_footprint_is_bounded_by_the_state(trained: Learner) -> None:
    held, state = trained.footprint(), trained.state()
    # Of weights that nothing changes a state may hold only a digest.
    frozen = trained.backbone.footprint().weights if "digest" in state.get("backbone", {}) else 0
    assert held.weights >= 0
    assert held.memory >= 0
    assert 0 < held.weights + held.memory <= 1.1 * (len(pack(state)) + frozen)


def test_labels_may_be_any_integers_and_more_come_with_each_task(trained: Learner) -> None:
    task = STREAM.task(3)
    moved = {label: 10**12 + 7 * label for label in task.labels}

    def renamed(batch: Batch) -> Batch:
        labels = np.array([moved[x] for x in batch.labels.tolist()], np.int64)
        return Batch(batch.images, labels, batch.factors)

    view = Task(3, tuple(moved.values()), lambda s: renamed(task.split(s)), lambda: renamed(task.exemplars))
    train(trained, view, n_batches=8)
    known = {*STREAM.task(0).labels, *STREAM.task(1).labels, *moved.values()}
    assert set(trained.predict(task.train.images).tolist()) <= known | no_label(trained)
