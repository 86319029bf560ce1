import numpy as np

from everlearn.learners.gdumb import GDumb
from everlearn.learners.naive import Naive
from everlearn.serialization import digest
from everlearn.streams import sprites

from .toy import FLAT, batch_of, head_of, view_of


def test_learn_does_not_change_state() -> None:
    learner, batch = GDumb(**FLAT), batch_of([0, 1])
    before = digest(learner.state())
    learner.learn(batch)
    assert digest(learner.state()) == before


def test_end_trains_a_new_network_on_the_buffer() -> None:
    learner = GDumb(**FLAT, memory_size=6, passes=3, replay_size=4)
    learner.end(view_of(batch_of([0, 1] * 10)))
    learner.end(view_of(batch_of([2] * 10, number=1), index=1))
    assert [learner.buffer.count(label) for label in (0, 1, 2)] == [2, 2, 2]
    naive, stored = Naive(**FLAT), learner.buffer.everything()
    for epoch in range(3):
        for batch in stored.shuffled(0, 1, epoch).batches(4):
            naive.learn(batch)
    assert naive.net.head.labels == learner.net.head.labels
    np.testing.assert_array_equal(head_of(learner), head_of(naive))


def test_images_of_several_epochs_are_sampled_once() -> None:
    task = sprites(image_size=16, classes_per_task=3, factor_values=2).task(0)
    learner = GDumb(image_shape=(16, 16), memory_size=30, passes=1)
    for _epoch in range(3):
        for batch in task.train.batches(8):
            learner.learn(batch)
    learner.end(task.for_learner())
    stored = learner.buffer.everything().images
    assert len(stored) == min(30, len(task.train))
    assert learner.buffer.n_seen == len(task.train)
