import numpy as np

from everlearn.learners.gdumb import GDumb
from everlearn.learners.naive import Naive
from everlearn.serialization import digest
from everlearn.streams import sprites

from .toy import FLAT, batch_of, head_of, view_of


def test_nothing_is_learned_along_the_way() -> None:
    learner, batch = GDumb(**FLAT), batch_of([0, 1])
    before = digest(learner.state())
    learner.learn(batch)
    assert digest(learner.state()) == before


def test_a_task_ends_with_a_network_trained_on_the_memory_alone() -> None:
    learner = GDumb(**FLAT, memory_size=6, passes=3, replay_size=4)
    learner.end(view_of(batch_of([0, 1] * 10)))
    learner.end(view_of(batch_of([2] * 10, number=1), index=1))
    assert [learner.memory.count(label) for label in (0, 1, 2)] == [2, 2, 2]
    naive, kept = Naive(**FLAT), learner.memory.everything()
    for number in range(3):
        for piece in kept.shuffled(0, 1, number).pieces(4):
            naive.learn(piece)
    assert naive.head.labels == learner.head.labels
    np.testing.assert_array_equal(head_of(learner), head_of(naive))


def test_images_that_come_by_twice_are_chosen_from_once() -> None:
    task = sprites(image_size=16, classes_per_task=3, factor_values=2).task(0)
    learner = GDumb(image_shape=(16, 16), memory_size=30, passes=1)
    for _epoch in range(3):
        for batch in task.train.pieces(8):
            learner.learn(batch)
    learner.end(task.for_learner())
    kept = learner.memory.everything().images
    assert len(kept) == min(30, len(task.train))
    assert learner.memory.n_seen == len(task.train)
