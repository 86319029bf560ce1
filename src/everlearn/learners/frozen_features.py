"""The base class of learners that train a backbone on the first tasks and then keep feature statistics."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from everlearn.learners.averaging import AveragedNet
from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.stateful import Footprint, Names
from everlearn.memory.class_means import ClassMeans
from everlearn.networks import EVAL_BATCH_SIZE, GrowingHead, n_bytes
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images


class FrozenFeatures(Classifier):
    """Train a classifier on the first tasks, then freeze its backbone and keep statistics of its features.

    When the backbone is frozen, the images of the last training task are passed through it once more; images
    of earlier tasks are not available. A method overrides `add_features` and `classify`.
    """

    n_training_tasks: int = setting(
        "tasks that train the backbone; 0 freezes it as initialized", default=1, ge=0, le=1_000_000
    )

    parts: ClassVar[Names] = ("sums",)
    counters: ClassVar[Names] = ("n_ended",)

    def setup(self) -> None:
        super().setup()
        self.n_ended = 0
        self.sums = ClassMeans(n_features=self.net.n_features)

    @abstractmethod
    def add_features(self, features: FloatArray, labels: IntArray) -> None:
        """Update the statistics with features (n, n_features)."""

    @abstractmethod
    def classify(self, features: FloatArray) -> IntArray:
        """The labels of features (n, n_features); called only if there are statistics of a label."""

    @property
    def is_frozen(self) -> bool:
        """Whether the backbone is no longer trained."""
        return self.n_ended >= self.n_training_tasks

    def learn(self, batch: Batch) -> Losses:
        if not self.is_frozen:
            return super().learn(batch)
        features = self.features(batch.images)
        self.count_flops(len(batch), self.forward_flops, backward=False)
        self.add_features(features, batch.labels)
        differences = features - self.sums.means(batch.labels)
        return {"distance": float(np.square(differences).sum(1).mean())}

    def end(self, task: TaskView) -> None:
        was_frozen = self.is_frozen
        self.n_ended += 1
        if self.is_frozen and not was_frozen:
            self.net.backbone = self.inference_net.backbone
            self.net.head = GrowingHead(self.net.n_features).to(self.net.head.weight.device)
            self.averaged = AveragedNet(self.net)  # empty: one copy of the backbone is enough from now on
            self.optim = self.make_optimizer()
            for batch in task.train.batches(EVAL_BATCH_SIZE):
                self.learn(batch)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        if not self.is_frozen:
            return super().predict(images, tasks)
        if not len(self.sums):
            return np.full(len(images), -1, np.int64)
        return self.classify(self.features(images))

    def footprint(self) -> Footprint:
        unused = n_bytes(self.net.head) if self.is_frozen else 0  # only training the backbone needs a head
        return super().footprint() + Footprint(weights=-unused)
