"""Experience replay: the oldest cure for forgetting."""

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Classifier
from everlearn.learners.base.learner import Footprint, Losses, State
from everlearn.memory import Reservoir
from everlearn.streams import Batch

MAX_REPLAY = 65_536


class ER(Classifier):
    """Rehearse a few old images next to every new batch.

    A fair sample of everything seen so far (reservoir sampling) is kept, and each new batch is learned
    together with a handful drawn from it. Expect it to hold for as long as the memory holds enough
    images of each class, and to decay after that.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        backbone: "small" or "resnet18".
        learning_rate: Adam's step size.
        memory_size: images kept in all.
        replay_size: old images learned with each batch.

    Example:
        >>> ER.tiny().memory
        <Reservoir: 0 of at most 2000 images, 0 seen>

    Reference: Chaudhry et al. 2019, "On tiny episodic memories in continual learning", arXiv:1902.10486.
    """

    given = "labelled images, past images"

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        backbone: str = "small",
        learning_rate: float = 1e-3,
        memory_size: int = 2000,
        replay_size: int = 64,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed, backbone=backbone, learning_rate=learning_rate)
        check_range("replay_size", replay_size, 1, MAX_REPLAY)
        self.memory = Reservoir(capacity=memory_size, seed=seed)
        self.replay_size = replay_size

    def learn(self, batch: Batch) -> Losses:
        """One step on new and old images together; then the new ones may enter the memory."""
        old = self.memory.sample(self.replay_size)
        loss = self.step(Batch.concatenate([_plain(batch), _plain(old)]) if len(old) else batch)
        self.memory.add(_plain(batch))
        return {"loss": loss}

    def state(self) -> State:
        """The network's state and the memory's."""
        return {**super().state(), "memory": self.memory.state()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.memory.load(state["memory"])

    def footprint(self) -> Footprint:
        """The bytes of the network and of the images kept."""
        return Footprint(weights=super().footprint().weights, memory=self.memory.nbytes)


def _plain(batch: Batch) -> Batch:
    """Images and labels only: replay may not remember the ground truth of poses."""
    return Batch(batch.images, batch.labels)
