"""Learners that know the labels of a stream, with an exemplar memory and a novelty score."""

from collections.abc import Iterator

import numpy as np

from everlearn.factors import Factors
from everlearn.learners import Learner, Losses
from everlearn.memory import ExemplarMemory
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

N_TASKS = 2


class OracleLearner(Learner):
    """Predicts the true label if it is in memory, else -1; the novelty score is 1 for other labels."""

    parts = ("memory",)

    def __init__(self, stream: Stream, n_tasks: int = 40) -> None:
        super().__init__(image_shape=stream.image_shape)
        self.memory = ExemplarMemory()
        batches = (batch for task in stream.take(n_tasks) for batch in (task.test, task.val, task.held_out))
        self.truth = {
            image.tobytes(): int(label)
            for batch in batches
            for image, label in zip(batch.images, batch.labels, strict=True)
        }
        for task in stream.take(N_TASKS):
            self.memory.add(task.exemplars)

    def learn(self, batch: Batch) -> Losses:
        return {}

    def _labels(self, images: Images) -> Iterator[int]:
        return (self.truth[image.tobytes()] for image in images)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.array([label if label in self.memory else -1 for label in self._labels(images)])

    def novelty(self, images: Images) -> FloatArray:
        return np.array([float(label not in self.memory) for label in self._labels(images)])


class ConstantLearner(OracleLearner):
    """Predicts the smallest label in memory; the novelty score is constant."""

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.full(len(images), self.memory.classes()[0])

    def novelty(self, images: Images) -> FloatArray:
        return np.zeros(len(images))


class CanonicalPose:
    """Estimates canonical factors for every image."""

    def estimate(self, images: Images) -> Factors:
        return Factors(scale=np.ones(len(images)))
