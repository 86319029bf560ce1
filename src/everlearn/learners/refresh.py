"""Refresh learning: unlearn each batch slightly before training on it."""

from typing import ClassVar

import torch

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.er import ER
from everlearn.learners.fisher import fisher_diagonal
from everlearn.learners.stateful import Names
from everlearn.networks.devices import to_like
from everlearn.networks.tensors import pad_to
from everlearn.rng import Rng, rng_at
from everlearn.streams import Batch, TaskView


class Refreshing(Classifier):
    """A classifier that unlearns each batch before it trains on it.

    A class that inherits from this and from a method adds refresh learning to the method.

    Example:
        >>> from everlearn.learners.der import DERPlusPlus
        >>> class RefreshDERPlusPlus(Refreshing, DERPlusPlus):
        ...     "DER++ with refresh learning."
        >>> RefreshDERPlusPlus.tiny().parts
        ('net', 'optim', 'averaged', 'buffer', 'fisher')
    """

    unlearning_rate: float = setting(
        "size of an unlearning step, relative to the weights; 1e-5 in the published code",
        default=1e-5, ge=0, le=1,
    )  # fmt: skip
    n_unlearning_steps: int = setting("unlearning steps before each batch", default=1, ge=0, le=1000)
    noise: float = setting("standard deviation of the noise in a step", default=1e-3, ge=0, le=1e3)
    fisher_weight: float = setting("weight of the Fisher information F", default=1e-3, ge=0, le=1e12)
    fisher_decay: float = setting("factor of the F of earlier tasks", default=1e-5, ge=0, le=1)
    n_fisher_images: int = setting("images of a task that F is estimated from", default=200, ge=1, le=10**6)

    parts: ClassVar[Names] = ("fisher",)

    def setup(self) -> None:
        super().setup()
        self.fisher = [torch.zeros_like(parameter) for parameter in self.parameters()]

    def learn(self, batch: Batch) -> Losses:
        for number in range(self.n_unlearning_steps):
            self.unlearn(batch, rng_at(self.seed, "refresh noise", self.n_steps, number))
        return super().learn(batch)

    def unlearn(self, batch: Batch, rng: Rng) -> None:
        """One step of noisy gradient ascent on the loss of new images, smaller where F is large."""
        images, targets = self.tensors(batch)
        parameters = self.parameters()
        self.net.eval()  # running statistics stay as they are
        gradients = torch.autograd.grad(self.loss(images, targets), parameters)
        with torch.no_grad():
            for weights, gradient, fisher in zip(parameters, gradients, self.fisher, strict=True):
                ascent = gradient * (weights.norm() / gradient.norm().clamp_min(1e-20))
                noise = self.noise * to_like(rng.normal(weights.numel()), weights).view_as(weights)
                damping = 1 + self.fisher_weight * pad_to(fisher, weights.shape)
                weights.add_(self.unlearning_rate * (ascent + noise) / damping)

    def end(self, task: TaskView) -> None:
        super().end(task)
        images, targets = self.tensors(task.train.shuffled(self.seed, task.index)[: self.n_fisher_images])
        self.net.eval()
        new = fisher_diagonal(self.loss, images, targets, self.parameters())
        old = [pad_to(before, now.shape) for before, now in zip(self.fisher, new, strict=True)]
        self.fisher = [self.fisher_decay * before + now for before, now in zip(old, new, strict=True)]


class Refresh(Refreshing, ER):
    """Experience replay with refresh learning.

    Before each step of `er`, the new batch is unlearned by one step of noisy gradient ascent: with g the
    gradient of its loss with respect to the weights w of a layer, w becomes
    w + unlearning_rate * (|w| / |g| * g + noise * e) / (1 + fisher_weight * F), where e is standard normal
    and F the diagonal of the Fisher information after the last task. Relearning then has to find flatter
    minima. This is the step of the published code; in the paper it is w + rate * g / F + noise of variance
    2 rate / F. It costs a second pass over the new batch. Accuracy decays as with `er` when classes outgrow
    the buffer.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = Refresh.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> len(learner.buffer), learner.n_steps
        (16, 2)

    Reference: Wang et al. 2024, "A unified and general framework for continual learning", arXiv:2403.13249.
    """

    ablations: ClassVar = {"unlearning": {"n_unlearning_steps": 0}, "noise": {"noise": 0.0}}
