"""Supervised contrastive replay (SCR)."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.er import ER
from everlearn.learners.stateful import Footprint, Names
from everlearn.learners.stored_means import StoredMeans
from everlearn.networks import IncrementalNet, n_bytes
from everlearn.networks.crops import random_crops
from everlearn.networks.layers import projection_head
from everlearn.rng import IntArray, rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images


class SCR(ER):
    """Supervised contrastive replay.

    New and replayed images and a random crop of each pass through the network and a projection of two layers.
    With z the normalized outputs, the loss of a view i is the mean over other views j of its class of
    -log(exp(z_i · z_j / t) / sum over all other views k of exp(z_i · z_k / t)). The prediction is the class
    whose stored images have the nearest mean feature, so that no head can favor new classes. The paper also
    mirrors images and changes colors, which would turn some sprites and digits into others. A class without
    stored images is never predicted.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = SCR.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> learner.stored_means.means().shape
        (6, 256)

    Reference: Mai et al. 2021, "Supervised contrastive replay: revisiting the nearest class mean classifier
    in online class-incremental continual learning", arXiv:2103.13885.
    """

    temperature: float = setting(
        "t; the smaller, the more the nearest views count", default=0.07, ge=1e-3, le=1e3
    )
    embedding_size: int = setting("outputs of the projection", default=128, ge=1, le=65_536)
    min_crop: float = setting(
        "smallest area of a crop, as a share of the image; 0.2 in the published code, for photographs",
        default=0.7, gt=0, le=1,
    )  # fmt: skip

    parts: ClassVar[Names] = ("projection",)

    def setup(self) -> None:
        super().setup()
        self.stored_means = StoredMeans(self.buffer, self.features)

    def make_net(self) -> IncrementalNet:
        net = super().make_net()
        head = projection_head(net.n_features, self.embedding_size, self.seed)
        self.projection = head.to(self.device)
        return net

    def parameters(self) -> list[nn.Parameter]:
        return [*self.net.backbone.parameters(), *self.projection.parameters()]

    def learn(self, batch: Batch) -> Losses:
        self.stored_means.clear()
        return super().learn(batch)

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        crops = random_crops(images, self.min_crop, rng_at(self.seed, "scr crops", self.n_steps))
        self.count_flops(2 * len(images), self.forward_flops)
        outputs = self.projection(self.net.backbone(torch.cat([images, crops])))
        return supervised_contrastive(functional.normalize(outputs), targets.repeat(2), self.temperature)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return self.stored_means.predict(images)

    def on_load(self) -> None:
        self.stored_means.clear()

    def footprint(self) -> Footprint:
        # The head only numbers labels.
        return super().footprint() + Footprint(weights=-n_bytes(self.net.head))


def supervised_contrastive(embeddings: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """The supervised contrastive loss of normalized embeddings (n, d); each class has at least two.

    Example:
        >>> one, other = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
        >>> embeddings, targets = torch.stack([one, one, other, other]), torch.tensor([0, 0, 1, 1])
        >>> supervised_contrastive(embeddings, targets, 1.0)  # log(e + 1 + 1) - 1
        tensor(0.5514)

    Reference: Khosla et al. 2020, "Supervised contrastive learning", arXiv:2004.11362.
    """
    is_self = torch.eye(len(targets), dtype=torch.bool, device=targets.device)
    is_positive = (targets[:, None] == targets) & ~is_self
    similarities = (embeddings @ embeddings.T / temperature).float().masked_fill(is_self, -torch.inf)
    log_shares = functional.log_softmax(similarities, 1).masked_fill(~is_positive, 0.0)
    return -(log_shares.sum(1) / is_positive.sum(1)).mean()
