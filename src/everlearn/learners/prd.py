"""Prototype-sample relation distillation (PRD)."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_LEARNING_RATE, Classifier, build_optimizer
from everlearn.learners.distillation import Teacher
from everlearn.learners.scr import supervised_contrastive
from everlearn.learners.stateful import Names
from everlearn.networks import IncrementalNet
from everlearn.networks.crops import random_crops
from everlearn.networks.layers import cosines, projection_head
from everlearn.rng import IntArray, rng_at
from everlearn.streams import Batch, TaskView


class PRD(Classifier):
    """Prototype-sample relation distillation.

    The views of a step are its images and a random crop of each. The loss is the sum of three: the supervised
    contrastive loss of projected features; prototype_weight * mean of 1 - cos(p, f), where f is a feature and
    p the prototype of its class, which trains prototypes only; and from the second task on relation_weight *
    mean over old classes of KL(s' || s), where s is the softmax over the views of cos(p, f) /
    relation_temperature for the prototype p of an old class, and s' the same with features and prototypes of
    a frozen copy of the network after the last task. Thus old prototypes follow the features without old
    images. The prediction is the class whose prototype has the largest cosine with the feature.

    No image is stored. New and old classes are never compared, so it stays far below replay in
    class-incremental streams. The contrastive loss needs large batches and many epochs.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = PRD.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> sorted(losses)
        ['contrast', 'loss', 'prototypes', 'relations']

    Reference: Asadi et al. 2023, "Prototype-sample relation distillation: towards replay-free continual
    learning", arXiv:2303.14771.
    """

    learning_rate: float = setting(default=5e-4)
    temperature: float = setting("temperature of the contrastive loss", default=0.07, ge=1e-3, le=1e3)
    relation_temperature: float = setting("temperature of relations", default=0.1, ge=1e-3, le=1e3)
    prototype_weight: float = setting("weight of the loss of prototypes", default=2.0, ge=0, le=1e6)
    relation_weight: float = setting("weight of the loss of relations", default=4.0, ge=0, le=1e6)
    prototype_lr: float = setting("learning rate of prototypes", default=0.01, gt=0, lt=MAX_LEARNING_RATE)
    embedding_size: int = setting("outputs of the projection", default=128, ge=1, le=65_536)
    min_crop: float = setting("smallest area of a crop, as a share of the image", default=0.7, gt=0, le=1)

    parts: ClassVar[Names] = ("projection", "teacher")
    ablations: ClassVar = {"relations": {"relation_weight": 0.0}}

    def setup(self) -> None:
        super().setup()
        self.teacher = Teacher(self.net)

    def make_net(self) -> IncrementalNet:
        net = super().make_net()
        head = projection_head(net.n_features, self.embedding_size, self.seed)
        self.projection = head.to(self.device)
        return net

    def parameters(self) -> list[nn.Parameter]:
        return [*self.net.backbone.parameters(), *self.projection.parameters(), self.net.head.weight]

    def make_optimizer(self) -> torch.optim.Optimizer:
        *others, prototypes = self.parameters()
        groups: list[dict[str, Any]] = [{"params": others}, {"params": [prototypes], "lr": self.prototype_lr}]
        return build_optimizer(self.optimizer, groups, self.learning_rate, self.momentum)

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        images, targets = self.tensors(batch)
        crops = random_crops(images, self.min_crop, rng_at(self.seed, "prd crops", self.n_steps))
        views, targets = torch.cat([images, crops]), targets.repeat(2)
        self.count_flops(len(views), self.forward_flops)
        features = self.net.backbone(views)
        embeddings = functional.normalize(self.projection(features))
        own = functional.cosine_similarity(features.detach(), self.net.head.weight[targets])
        losses = {
            "contrast": supervised_contrastive(embeddings, targets, self.temperature),
            "prototypes": self.prototype_weight * (1 - own).mean(),
        }
        if self.teacher:
            losses["relations"] = self.relation_weight * self.relation_loss(views, features)
        return self.step_on_sum(losses)

    def relation_loss(self, views: Tensor, features: Tensor) -> Tensor:
        """The change of the relations of old prototypes and views since the last task."""
        self.count_flops(len(views), self.forward_flops, backward=False)
        teacher, n = self.teacher.net, self.teacher.n_labels
        assert teacher is not None  # noqa: S101
        with torch.no_grad():
            before = cosines(teacher.backbone(views), teacher.head.weight[:n])
        now = cosines(features, self.net.head.weight[:n])
        return relation_divergence(now, before, self.relation_temperature)

    def end(self, task: TaskView) -> None:
        self.teacher.update()

    def inference_logits(self, images: Tensor) -> Tensor:
        net = self.inference_net
        return cosines(net.backbone(images), net.head.weight[: len(net.head.labels)])

    def add_labels(self, labels: IntArray) -> None:
        """Add new labels with random prototypes; zeros would have no direction."""
        first, std = len(self.net.head.labels), self.net.n_features**-0.5
        super().add_labels(labels)
        self.net.head.draw_rows(first, rng_at(self.seed, "prd prototypes", first), std)


def relation_divergence(now: Tensor, before: Tensor, temperature: float) -> Tensor:
    """The mean over prototypes of the KL divergence of softmaxes over images of cosines (n_images, n).

    Example:
        >>> before = torch.tensor([[0.5], [0.5]])
        >>> now = torch.tensor([[0.0], [torch.log(torch.tensor(3.0))]])  # shares 1/4 and 3/4
        >>> relation_divergence(now, before, 1.0)  # log(2) / 2 - log(3/2) / 2
        tensor(0.1438)
    """
    shares = functional.softmax(before / temperature, 0)
    log_shares = functional.log_softmax(now / temperature, 0)
    return functional.kl_div(log_shares, shares, reduction="sum") / now.shape[1]
