"""Experience replay: the oldest cure for forgetting."""

from typing import Unpack

from everlearn.errors import check_range, unknown
from everlearn.learners.base.classifier import Shared
from everlearn.learners.base.learner import Losses
from everlearn.learners.base.rehearsal import MAX_REPLAY, Rehearsal, mixed, plain
from everlearn.memory import ClassBalanced, Reservoir
from everlearn.streams import Batch

POLICIES = {"reservoir": Reservoir, "class-balanced": ClassBalanced}


class ER(Rehearsal):
    """Rehearse a few old images next to every new batch.

    A sample of everything seen so far is kept, and each new batch is learned together with a handful drawn
    from it, under one cross-entropy. Expect it to hold for as long as the memory holds enough images of
    each class, and to decay after that.

    Args:
        memory_size: images kept in all.
        replay_size: old images learned with each batch.
        policy: what is kept: "reservoir" is a fair sample of all images, "class-balanced" as many of a rare
            class as of a frequent one.

    Example:
        >>> ER.tiny().memory
        <Reservoir: 0 of at most 2000 images, 0 seen>

    Reference: Chaudhry et al. 2019, "On tiny episodic memories in continual learning", arXiv:1902.10486.
    """

    def __init__(
        self,
        *,
        memory_size: int = 2000,
        replay_size: int = 64,
        policy: str = "reservoir",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        check_range("replay_size", replay_size, 1, MAX_REPLAY)
        if policy not in POLICIES:
            raise unknown("policy", policy, POLICIES)
        self.memory = POLICIES[policy](capacity=memory_size, seed=self.seed)
        self.replay_size = replay_size

    def learn(self, batch: Batch) -> Losses:
        """One step on new and old images together; then the new ones may enter the memory."""
        loss = self.step(mixed(batch, self.memory.sample(self.replay_size)))
        self.memory.add(plain(batch))
        return {"loss": loss}
