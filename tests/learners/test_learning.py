"""Which methods forget and which do not, on a tiny stream; takes a few minutes."""

from functools import cache

import numpy as np
import pytest

from everlearn import learners
from everlearn.streams import sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=3, n_tasks=3)
EPOCHS, BATCH = 12, 32


@cache
def accuracies(name: str) -> tuple[float, ...]:
    """On each of three tasks, after all of them."""
    replay = {"replay_size": BATCH} if "replay_size" in learners.settings_class(name).model_fields else {}
    learner = learners.build(name, image_shape=(16, 16), seed=0, **replay)
    for task in STREAM.take(3):
        view = task.for_learner()
        learner.begin(view)
        for epoch in range(EPOCHS):
            for batch in view.train.shuffled(0, task.index, epoch).batches(BATCH):
                learner.learn(batch)
        learner.end(view)
    tests = [STREAM.task(k).train for k in range(3)]
    return tuple(float(np.mean(learner.predict(test.images) == test.labels)) for test in tests)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["naive", "lwf", "ewc", "si", "l2"])
def test_methods_without_replay_forget(name: str) -> None:
    assert np.mean(accuracies(name)[:2]) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("name", ["er", "joint", "cumulative-budget"])
def test_replay_reduces_forgetting(name: str) -> None:
    assert np.mean(accuracies(name)[:2]) > np.mean(accuracies("naive")[:2]) + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["naive", "lwf", "ewc", "si", "l2"])
def test_joint_training_is_an_upper_bound(name: str) -> None:
    """Not of `er`: the buffer holds all images of this short stream, and is replayed for more steps."""
    assert np.mean(accuracies(name)) < np.mean(accuracies("joint")) + 0.05
