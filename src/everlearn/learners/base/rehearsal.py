"""The common part of classifiers that keep images of the past."""

from everlearn.learners.base.classifier import Classifier
from everlearn.learners.base.learner import Footprint, State
from everlearn.memory import Memory
from everlearn.streams import Batch

MAX_REPLAY = 65_536
"""Old images that may be learned with one batch."""


class Rehearsal(Classifier):
    """A classifier with a memory of past images, which is saved, loaded and counted; a method makes it."""

    given = "labelled images, past images"
    memory: Memory

    def state(self) -> State:
        """The network's state and the memory's."""
        return {**super().state(), "memory": self.memory.state()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.memory.load(state["memory"])

    def footprint(self) -> Footprint:
        """The bytes of the network, and of the images kept with all that is kept beside them."""
        return Footprint(weights=super().footprint().weights, memory=self.memory.nbytes)


def plain(batch: Batch) -> Batch:
    """Images and labels only: replay may not remember the ground truth of poses."""
    return Batch(batch.images, batch.labels)


def mixed(batch: Batch, old: Batch) -> Batch:
    """New and old images together."""
    return Batch.concatenate([plain(batch), plain(old)]) if len(old) else batch
