"""Disentangled continual learning as published."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.base import Losses, setting
from everlearn.learners.exemplar_matching import ExemplarLearner, ExemplarMatch, ExemplarStore
from everlearn.learners.image_comparison import Residuals
from everlearn.learners.stateful import Names
from everlearn.networks import data_parallel, flops_per_image, make_backbone, minimize, seeded, to_tensor
from everlearn.networks.devices import loss_values, to_like
from everlearn.networks.pose import affine_sample, poses_from_matrices, to_images
from everlearn.streams import Batch
from everlearn.streams.stream import Images

INDEX_POOLING = 2


class DCLPaper(ExemplarLearner):
    """Disentangled continual learning as published.

    ResNet-18 regresses the 2x3 affine matrix of an object's pose, with the squared error to the true matrix.
    Prediction: warp the image by the predicted matrix to the canonical frame (bilinear, border padding), and
    take the class of the nearest exemplar in pixel space. The paper trains five epochs with Adam at 0.001. It
    costs about fifty times as much per image as `dcl`.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = DCLPaper.tiny()
        >>> sorted(learner.learn(task.train[:8]))
        ['loss', 'pose']
        >>> learner.memory
        <ExemplarMemory: 7 images of 7 classes>

    Reference: Dziadzio et al. 2023, "Infinite dSprites for disentangled continual learning",
    arXiv:2312.16731.
    """

    backbone: str = setting("backbone of the pose network", default="resnet18")
    learning_rate: float = setting("learning rate of Adam", default=1e-3, gt=0)
    reconstruction_weight: float = setting(
        "weight of the squared error between the warped image and its exemplar", default=0.0
    )

    parts: ClassVar[Names] = ("net", "optim")
    supports_data_parallel = True
    tiny_settings: ClassVar = {"backbone": "small"}

    def setup(self) -> None:
        self.exemplars = ExemplarStore(INDEX_POOLING)
        features = make_backbone(self.backbone, self.image_shape, self.seed)
        with seeded(self.seed):
            head = nn.Linear(features.n_features, 6)
        self.net = data_parallel(nn.Sequential(features, head))
        self.optim = torch.optim.Adam(self.net.parameters(), lr=self.learning_rate, foreach=True)
        self.forward_flops = flops_per_image(self.net, self.image_shape)

    def learn(self, batch: Batch) -> Losses:
        if batch.factors is None:
            raise BadInput("these images come without factors; dcl-paper needs them, dcl can do without")
        self.add_first_images(batch)
        images = self._tensor(batch.images)
        losses = self.losses(images, to_like(batch.factors.matrices(), images), batch)
        loss = torch.stack(list(losses.values())).sum()
        minimize(loss, self.optim)
        self.count_flops(len(images), self.forward_flops)
        self.exemplars.cache.clear()
        return loss_values({"loss": loss, **losses})

    def losses(self, images: Tensor, matrices: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Squared error of the matrix and, with `reconstruction_weight`, of the warped image."""
        self.net.train()
        predicted = self.net(images).reshape(-1, 2, 3)
        losses = {"pose": functional.mse_loss(predicted, matrices)}
        if self.reconstruction_weight:
            exemplars = np.stack([self.memory.images_of(label)[0] for label in batch.labels.tolist()])
            error = functional.mse_loss(affine_sample(images, predicted), self._tensor(exemplars))
            losses["reconstruction"] = self.reconstruction_weight * error
        return losses

    @torch.no_grad()
    def match(self, images: Images) -> ExemplarMatch:
        """Warp images by the predicted matrices, and find the two nearest exemplars."""
        self.net.eval()
        pixels = self._tensor(images)
        matrices = self.net(pixels).reshape(-1, 2, 3)
        canonical = to_images(affine_sample(pixels, matrices).cpu())
        return self.exemplars.nearest(canonical, poses_from_matrices(matrices.cpu().double()).numpy())

    def novelty_scores(self, match: ExemplarMatch, images: Images) -> Residuals:
        """The paper's ratio: distance of the nearest exemplar as a share of the second nearest."""
        return match.ratios

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, next(self.net.parameters()).device)
