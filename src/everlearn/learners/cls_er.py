"""Experience replay with two averaged networks (CLS-ER)."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from everlearn.learners.averaging import AveragedNet
from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import concat, without_factors
from everlearn.learners.er import ER
from everlearn.learners.stateful import Names
from everlearn.networks.devices import loss_values
from everlearn.rng import rng_at
from everlearn.streams import Batch


class CLSER(ER):
    """Experience replay with two averaged networks (CLS-ER).

    Two copies of the network are moving averages of its weights: after each step the plastic one is updated
    with probability plastic_rate, the stable one more rarely. The loss is cross-entropy over new and replayed
    images + consistency_weight * mean squared error between the logits of replayed images and those of the
    copy that gives the true label the larger probability. Predictions are made with the stable copy. The
    decays are smaller in the first steps. Replayed images update the batch normalization of the copies, since
    averaged statistics do not fit averaged weights. Accuracy decays as with `er` when classes outgrow the
    buffer, and the copies lag behind where a task has few steps.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = CLSER.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> sorted(losses), learner.stable.n_labels
        (['consistency', 'loss'], 6)

    Reference: Arani et al. 2022, "Learning fast, learning slow: a general continual learning method based on
    complementary learning system", arXiv:2201.12604.
    """

    average: float = setting("0: predictions are made with the stable copy", default=0.0, ge=0, le=0)
    consistency_weight: float = setting("weight of the error of logits", default=0.1, ge=0, le=1e9)
    plastic_rate: float = setting("probability of an update of the plastic copy", default=0.9, ge=0, le=1)
    stable_rate: float = setting("probability of an update of the stable copy", default=0.7, ge=0, le=1)
    plastic_decay: float = setting(
        "decay of the plastic average; 0.999 in the published code", default=0.99, ge=0, le=0.99999
    )
    stable_decay: float = setting(
        "decay of the stable average; 0.999 in the published code", default=0.99, ge=0, le=0.99999
    )

    parts: ClassVar[Names] = ("plastic", "stable")
    ablations: ClassVar = {
        "consistency": {"consistency_weight": 0.0},
        "averaging": {"plastic_decay": 0.0, "stable_decay": 0.0, "plastic_rate": 1.0, "stable_rate": 1.0},
    }

    def setup(self) -> None:
        super().setup()
        self.plastic, self.stable = AveragedNet(self.net), AveragedNet(self.net)
        for average in (self.plastic, self.stable):
            average.update()

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        sample, n = self.buffer.sample(self.replay_size), len(batch)
        images, targets = self.tensors(concat(batch, sample))
        for average in (self.plastic, self.stable):
            average.add_labels()
        logits = self.logits(images)
        loss = functional.cross_entropy(logits, targets)
        losses = {}
        if len(sample):
            losses["consistency"] = functional.mse_loss(
                logits[n:], self.soft_targets(images[n:], targets[n:])
            )
            loss = loss + self.consistency_weight * losses["consistency"]
        self.optimizer_step(loss)
        self.n_steps += 1
        self.update_averages()
        self.buffer.add(without_factors(batch))
        return loss_values({"loss": loss, **losses})

    def soft_targets(self, images: Tensor, targets: Tensor) -> Tensor:
        """For each image, the logits of the copy that is more certain of the target."""
        self.count_flops(2 * len(images), self.forward_flops, backward=False)
        logits = torch.stack([self.plastic.in_training(images), self.stable.in_training(images)])
        rows = torch.arange(len(images), device=images.device)
        is_stable = functional.softmax(logits, 2)[:, rows, targets].argmax(0)  # the first of equals
        return logits[is_stable, rows]

    def update_averages(self) -> None:
        """Update each copy with its probability."""
        plastic, stable = rng_at(self.seed, "cls-er updates", self.n_steps).uniform(2)
        least = 1 / (self.n_steps + 1)
        if plastic < self.plastic_rate:
            self.plastic.average(max(1 - self.plastic_decay, least), statistics=False)
        if stable < self.stable_rate:
            self.stable.average(max(1 - self.stable_decay, least), statistics=False)

    def inference_logits(self, images: Tensor) -> Tensor:
        return self.stable(images)
