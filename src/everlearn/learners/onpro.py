"""Online prototype learning (OnPro)."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import concat, without_factors
from everlearn.learners.er import ER
from everlearn.learners.scr import supervised_contrastive
from everlearn.learners.stateful import Names
from everlearn.networks import IncrementalNet, seeded
from everlearn.networks.crops import random_crops
from everlearn.networks.devices import to_device, to_like
from everlearn.rng import Rng, rng_at
from everlearn.streams import Batch, TaskView

MIX_PROBABILITY, MAX_MIX = 0.6, 0.6
"""Probability that an image is mixed with a random other one, and the largest share of the other."""


class OnPro(ER):
    """Online prototype learning.

    A linear layer projects features; z is its normalized output, and a prototype the normalized mean of z
    over the images of a class in a batch. The loss is the sum of three, each on crops as second views:
    prototypes (each should be nearest to that of the same class in the other view, for new and for replayed
    images), instances (supervised contrastive loss, for both) and cross-entropy: of new images in the first
    task, of replayed ones from then on. Replayed images are mixed in pairs: a share `near_share` of the pairs
    is from classes with near prototypes, drawn from the softmax of 1 / distance, the others are random.

    The rotated pseudo-classes of the published code, its comparison of z with parts of the features,
    mirroring and colors are left out. It costs about three times as much as `er`.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = OnPro.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> sorted(losses)
        ['cross_entropy', 'instances', 'loss', 'prototypes']

    Reference: Wei et al. 2023, "Online prototype learning for online continual learning", arXiv:2308.00301.
    """

    prototype_temperature: float = setting("temperature of prototypes", default=0.5, ge=1e-3, le=1e3)
    instance_temperature: float = setting("temperature of instances", default=0.07, ge=1e-3, le=1e3)
    near_share: float = setting("share of replayed images mixed from near classes", default=0.25, ge=0, le=1)
    embedding_size: int = setting("outputs of the projection", default=128, ge=1, le=65_536)
    min_crop: float = setting(
        "smallest area of a crop, as a share of the image; 0.3 in the published code, for photographs",
        default=0.7, gt=0, le=1,
    )  # fmt: skip

    parts: ClassVar[Names] = ("projection",)
    counters: ClassVar[Names] = ("n_ended",)

    def setup(self) -> None:
        super().setup()
        self.n_ended = 0

    def make_net(self) -> IncrementalNet:
        net = super().make_net()
        with seeded(self.seed):
            self.projection = nn.Linear(net.n_features, self.embedding_size).to(self.device)
        return net

    def parameters(self) -> list[nn.Parameter]:
        return [*self.net.parameters(), *self.projection.parameters()]

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        sample, n = self.buffer.sample(self.replay_size), len(batch)
        images, targets = self.tensors(concat(batch, sample))
        z = self.view_embeddings(images)
        losses = self.contrasts(z[:, :n], targets[:n], class_members(batch, z))
        if len(sample):
            members = class_members(sample, z)
            of_sample = self.contrasts(z[:, n:], targets[n:], members)
            losses = {name: losses[name] + of_sample[name] for name in losses}
        if len(sample) and self.n_ended:
            losses["cross_entropy"] = self.mixed_loss(images[n:], targets[n:], z[:, n:].detach(), members)
        else:
            losses["cross_entropy"] = self.loss(self.crops(images[:n], 1), targets[:n])
        self.buffer.add(without_factors(batch))
        return self.step_on_sum(losses)

    def contrasts(self, z: Tensor, targets: Tensor, members: Tensor) -> dict[str, Tensor]:
        """The losses of prototypes and of instances, of two views (2, n, d) of images."""
        prototypes = class_prototypes(z, members).flatten(0, 1)
        classes = torch.arange(len(prototypes) // 2, device=z.device).repeat(2)
        instances = supervised_contrastive(z.flatten(0, 1), targets.repeat(2), self.instance_temperature)
        return {
            "prototypes": supervised_contrastive(prototypes, classes, self.prototype_temperature),
            "instances": instances,
        }

    def mixed_loss(self, images: Tensor, targets: Tensor, z: Tensor, members: Tensor) -> Tensor:
        """Cross-entropy of crops of mixed images, weighted by the shares of their two labels."""
        n, rng = len(images), rng_at(self.seed, "onpro mixtures", self.n_steps)
        one, other = torch.arange(n), torch.from_numpy(rng.permutation(n))
        is_mixed, share = to_like(rng.uniform(2 * n).reshape(2, n), images)
        share = MAX_MIX * share * (is_mixed < MIX_PROBABILITY)
        one, other = (to_device(each, images.device) for each in (one, other))
        prototypes = functional.normalize(class_prototypes(z, members).mean(0))
        if (k := round(self.near_share * n)) and len(prototypes) > 1:
            pairs = near_pairs(prototypes, members.argmax(0), k, rng)
            one, other = (torch.cat([near, each[k:]]) for near, each in zip(pairs, (one, other), strict=True))
        weights = share[:, None, None, None]
        mixed = (1 - weights) * images[one] + weights * images[other]
        logits = self.logits(self.crops(mixed, 1))
        losses = [functional.cross_entropy(logits, targets[each], reduction="none") for each in (one, other)]
        return ((1 - share) * losses[0] + share * losses[1]).mean()

    def view_embeddings(self, images: Tensor) -> Tensor:
        """The normalized projections z (2, n, d) of images and of their crops."""
        self.count_flops(2 * len(images), self.forward_flops)
        outputs = self.projection(self.net.backbone(torch.cat([images, self.crops(images, 0)])))
        return functional.normalize(outputs).view(2, len(images), -1)

    def crops(self, images: Tensor, number: int) -> Tensor:
        """Random crops; a step has two of them."""
        return random_crops(images, self.min_crop, rng_at(self.seed, "onpro crops", self.n_steps, number))

    def end(self, task: TaskView) -> None:
        self.n_ended += 1


def class_members(batch: Batch, like: Tensor) -> Tensor:
    """Which images of a batch belong to each of its classes: ones and zeros (n_classes, n)."""
    return to_like(np.unique(batch.labels)[:, None] == batch.labels, like)


def class_prototypes(z: Tensor, members: Tensor) -> Tensor:
    """The normalized means (2, n_classes, d) of embeddings (2, n, d) over the images of each class.

    Example:
        >>> z = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]])
        >>> class_prototypes(z, torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
        tensor([[[0.7071, 0.7071],
                 [0.6000, 0.8000]]])
    """
    return functional.normalize(members @ z, dim=2)


def near_pairs(prototypes: Tensor, rows: Tensor, k: int, rng: Rng) -> tuple[Tensor, Tensor]:
    """`k` pairs of images (k,), (k,) of two classes each, more of classes with near prototypes.

    `rows` has the class of each image: the row of its prototype.
    """
    first, second = torch.triu_indices(len(prototypes), len(prototypes), 1, device=rows.device)
    distances = (prototypes[first] - prototypes[second]).norm(dim=1).clamp_min(1e-3)
    bounds = functional.softmax(1 / distances, 0).cumsum(0)
    pairs = torch.searchsorted(bounds, to_like(rng.uniform(k), bounds)).clamp_max(len(bounds) - 1)
    images = []
    for classes in (first[pairs], second[pairs]):
        scores = to_like(rng.uniform(k * len(rows)), bounds).view(k, -1)
        images.append(scores.masked_fill(rows != classes[:, None], -1.0).argmax(1))
    return images[0], images[1]
