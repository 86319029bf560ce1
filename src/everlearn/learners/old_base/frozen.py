"""The common part of learners that train a network on the first tasks, freeze it, and count on it."""

from abc import abstractmethod
from typing import Unpack

import numpy as np

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, Losses, State
from everlearn.learners.old_base.classifier import PREDICT_PIECE, Classifier, Shared
from everlearn.memory.class_means import ClassSums
from everlearn.networks import BACKWARD, n_bytes
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

MAX_TASKS = 1_000_000


class Frozen(Classifier):
    """A network that learns as a classifier for a while, and then gives features that no longer move.

    When the network freezes, the images of the task it just learned are looked at once more, so that their
    features are known as well; images of tasks before that are gone. A method overrides `gather` (what to
    keep of features) and `decide` (whose features these are).

    Args:
        trained_tasks: tasks that train the network; 0 freezes it as it was initialised.
    """

    def __init__(self, *, trained_tasks: int = 1, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        check_range("trained_tasks", trained_tasks, 0, MAX_TASKS)
        self.trained_tasks, self.n_ended = trained_tasks, 0
        self.sums = ClassSums(n_features=int(self.body.n_features))  # type: ignore[arg-type]  # a number

    @abstractmethod
    def gather(self, features: FloatArray, labels: IntArray) -> None:
        """Keep what matters of features (n, n_features)."""

    @abstractmethod
    def decide(self, features: FloatArray) -> IntArray:
        """The labels that features (n, n_features) speak for; something was gathered before."""

    @property
    def is_frozen(self) -> bool:
        """Whether the network has learned all it will."""
        return self.n_ended >= self.trained_tasks

    def learn(self, batch: Batch) -> Losses:
        """One step of the optimiser, or a look with the network as it is."""
        if not self.is_frozen:
            return {"loss": self.step(batch)}
        features = self.features(batch.images)
        self.flops += len(batch) * self._flops_per_image / (1 + BACKWARD)
        self.gather(features, batch.labels)
        apart = features - self.sums.means(batch.labels)
        return {"distance": float(np.square(apart).sum(1).mean())}

    def end(self, task: TaskView) -> None:
        """Freeze the network if this was the last task to train it."""
        was_frozen = self.is_frozen
        self.n_ended += 1
        if self.is_frozen and not was_frozen:
            self.head = self._fresh_head()
            self.optimiser = self._fresh_optimiser()
            for piece in task.train.batches(PREDICT_PIECE):
                self.learn(piece)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """What the features speak for; while the network still learns, its largest output."""
        if not self.is_frozen:
            return super().predict(images, tasks)
        if not len(self.sums):
            return np.full(len(images), -1, np.int64)
        return self.decide(self.features(images))

    def state(self) -> State:
        """The network's state, how many tasks ended, sums and counts."""
        return {**super().state(), "n_ended": self.n_ended, "sums": self.sums.state()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.n_ended = state["n_ended"]
        self.sums.load(state["sums"])

    def footprint(self) -> Footprint:
        """The bytes of the network (its head only while it learns) and of the sums."""
        head = 0 if self.is_frozen else n_bytes(self.head)
        return Footprint(weights=n_bytes(self.body) + head, memory=self.sums.nbytes)
