"""Nearest mean image in pixel space."""

import math
from typing import ClassVar

import numpy as np

from everlearn.learners.base import Learner, Losses
from everlearn.learners.stateful import Names
from everlearn.memory.class_means import ClassMeans
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray
from everlearn.streams import Batch
from everlearn.streams.stream import Images

GRAIN = 16
"""Means are rounded to this fraction of a gray level: integers have the same sum in any order."""
CHUNK_SIZE = 256
"""Classes compared at a time, which bounds the memory that predictions need."""


class NearestMeanImage(Learner):
    """Nearest mean image in pixel space.

    There is no network and nothing is forgotten: a class is the mean of its images, and the prediction is the
    class with the smallest squared distance. It is the lower bound for methods that store images, and shows
    the effect of pose: it does well where objects do not move and poorly where they do.

    Example:
        >>> learner = NearestMeanImage.tiny()
        >>> white, black = np.full((1, 16, 16), 255, np.uint8), np.zeros((1, 16, 16), np.uint8)
        >>> _ = learner.learn(Batch(np.concatenate([white, black]), np.array([7, 4])))
        >>> learner.predict(np.full((1, 16, 16), 200, np.uint8))
        array([7])
    """

    parts: ClassVar[Names] = ("sums",)

    def setup(self) -> None:
        self.sums = ClassMeans(n_features=math.prod(self.image_shape), resolution=1.0)

    def learn(self, batch: Batch) -> Losses:
        images = self._flatten(batch.images)
        self.sums.add(images, batch.labels)
        self.flops += float(images.size)
        means = self._means(self.sums.positions(batch.labels))
        distance = np.abs(means - GRAIN * images).sum()
        return {"distance": float(distance) / (255 * GRAIN * images.size)}

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        flat = self._flatten(images)
        labels, smallest = np.full(len(images), -1, np.int64), np.full(len(images), np.inf)
        for start in range(0, len(self.sums), CHUNK_SIZE):
            chunk = slice(start, start + CHUNK_SIZE)
            means = self._means(chunk)
            # |x - m|² without |x|², which is the same for every class; the first of equals.
            distances = (means * means).sum(1) - 2 * GRAIN * (flat @ means.T)
            nearer = distances.min(1) < smallest
            labels[nearer] = self.sums.labels[chunk][distances[nearer].argmin(1)]
            smallest[nearer] = distances[nearer].min(1)
        return labels

    def _means(self, rows: IntArray | slice) -> AnyArray:
        """Mean images in integer multiples of 1 / GRAIN of a gray level, as floats."""
        return np.asarray(GRAIN * self.sums.sums[rows] // self.sums.counts[rows, None], np.float64)

    def _flatten(self, images: Images) -> AnyArray:
        return images.reshape(len(images), math.prod(self.image_shape)).astype(np.float64)
