"""Maximally interfered retrieval (MIR)."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_REPLAY, without_factors
from everlearn.learners.er import ER
from everlearn.networks.devices import loss_value
from everlearn.streams import Batch


class MIR(ER):
    """Maximally interfered retrieval.

    `er` with a selection of the replayed images. With w the weights, g the gradient on the new batch and
    v = w - learning_rate * g, the replayed images are those among `n_candidates` random ones of the buffer
    whose loss grows most from w to v. One step then minimizes the loss on the new batch + that on these
    images, which pass through the network together. The selection is made in evaluation mode. It costs two
    passes over the candidates and a second one over the new batch. A small selection from many candidates
    often has images of one class only, on which training fails; accuracy also decays as with `er` when
    classes outgrow the buffer.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = MIR.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> len(learner.buffer), learner.n_steps
        (16, 2)

    Reference: Aljundi et al. 2019, "Online continual learning with maximally interfered retrieval",
    arXiv:1908.04742.
    """

    n_candidates: int = setting(
        "stored images among which those of the largest increase are selected",
        default=128,
        ge=1,
        le=MAX_REPLAY,
    )

    def learn(self, batch: Batch) -> Losses:
        images, targets = self.tensors(batch)
        candidates, n = self.buffer.sample(self.n_candidates), len(batch)
        if len(candidates):
            self.net.eval()
            gradients = torch.autograd.grad(self.loss(images, targets), self.parameters())
            selected = self.most_interfered(*self.tensors(candidates), gradients)
            images, targets = torch.cat([images, selected[0]]), torch.cat([targets, selected[1]])
        self.net.train()
        logits = self.logits(images)
        loss = functional.cross_entropy(logits[:n], targets[:n])
        if len(candidates):
            loss = loss + functional.cross_entropy(logits[n:], targets[n:])
        self.optimizer_step(loss)
        self.end_step()
        self.buffer.add(without_factors(batch))
        return {"loss": loss_value(loss)}

    @torch.no_grad()
    def most_interfered(
        self, images: Tensor, targets: Tensor, gradients: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The candidates whose loss a step along the gradients increases most."""
        names = [name for name, _ in self.net.named_parameters()]
        moved = [w - self.learning_rate * g for w, g in zip(self.parameters(), gradients, strict=True)]
        self.count_flops(2 * len(images), self.forward_flops, backward=False)
        before = functional.cross_entropy(self.net(images), targets, reduction="none")
        logits = functional_call(self.net, dict(zip(names, moved, strict=True)), (images,))
        increase = functional.cross_entropy(logits, targets, reduction="none") - before
        rows = increase.topk(min(self.replay_size, len(images))).indices
        return images[rows], targets[rows]
