import numpy as np

from everlearn.learners.naive import Naive
from everlearn.streams import sprites


def test_naive_predicts_labels_of_the_latest_task() -> None:
    stream, learner = sprites(image_size=16, classes_per_task=3, factor_values=3), Naive.tiny()
    for task in stream.take(2):
        for epoch in range(6):
            for batch in task.train.shuffled(0, task.index, epoch).batches(16):
                learner.learn(batch)
    first, last = stream.task(0), stream.task(1)
    assert np.isin(learner.predict(first.test.images), last.labels).mean() > 0.95
    assert (learner.predict(last.train.images) == last.train.labels).mean() > 0.5
