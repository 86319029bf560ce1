"""Experience replay with asymmetric cross-entropy."""

import torch
from torch.nn import functional

from everlearn.learners import Classifier, setting
from everlearn.memory import Reservoir
from everlearn.streams import Batch


class ERACE(Classifier):
    """Experience replay with asymmetric cross-entropy (ER-ACE).

    The loss of new images excludes the logits of earlier classes that are not in the batch, so that their
    representations are not pushed away; the loss of replayed images has all classes.

    Reference: Caccia et al. 2022, "New insights on reducing abrupt representation change in online continual
    learning", arXiv:2104.05025.
    """

    memory_size: int = setting("images stored in total", default=500, ge=1)
    replay_size: int = setting("stored images replayed with each batch", default=64, ge=1)

    parts = ("buffer",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = Reservoir(capacity=self.memory_size, seed=self.seed)

    def learn(self, batch: Batch) -> dict[str, float]:
        replayed = self.buffer.sample(self.replay_size)
        earlier = {int(label) for label in self.net.head.labels} - set(batch.labels.tolist())
        images, targets = self.tensors(batch)
        self.net.train()
        excluded = torch.tensor([label in earlier for label in self.net.head.labels])
        loss = functional.cross_entropy(self.logits(images).masked_fill(excluded, -1e9), targets)
        if len(replayed):
            images, targets = self.tensors(replayed)
            loss = loss + functional.cross_entropy(self.logits(images), targets)
        self.optimizer_step(loss)
        self.buffer.add(Batch(batch.images, batch.labels))
        return {"loss": float(loss.detach())}
