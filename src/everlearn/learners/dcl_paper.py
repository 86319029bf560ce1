"""Disentangled continual learning as published."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.learners.base import Learner, Losses, Names, setting
from everlearn.learners.exemplar_matching import ExemplarMatcher, Match, Residuals
from everlearn.memory import ExemplarMemory
from everlearn.networks import data_parallel, flops_per_image, make_backbone, seeded, to_tensor
from everlearn.networks.pose import affine_sample, poses_from_matrices, to_images
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

INDEX_POOLING = 2


class DCLPaper(Learner):
    """Disentangled continual learning as published.

    ResNet-18 regresses the 2x3 affine matrix of an object's pose, with the squared error to the true matrix.
    Prediction: warp the image by the predicted matrix to the canonical frame (bilinear, border padding), and
    answer with the class of the nearest exemplar in pixel space. The paper trains five epochs with Adam at
    0.001. Costs about fifty times as much per image as `dcl`.

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

    parts: ClassVar[Names] = ("exemplars", "net", "optim")
    supervision = "labelled images, factor labels, exemplars"
    supports_data_parallel = True
    tiny_settings: ClassVar = {"backbone": "small"}

    def setup(self) -> None:
        self.exemplars = ExemplarMatcher(self.match, self.novelty_scores, INDEX_POOLING)
        features = make_backbone(self.backbone, self.image_shape, self.seed)
        with seeded(self.seed):
            head = nn.Linear(features.n_features, 6)
        self.net = data_parallel(nn.Sequential(features, head))
        self.optim = torch.optim.Adam(self.net.parameters(), lr=self.learning_rate)
        self.forward_flops = flops_per_image(self.net, self.image_shape)

    @property
    def memory(self) -> ExemplarMemory:
        """The exemplars, which can be edited."""
        return self.exemplars.memory

    @memory.setter
    def memory(self, memory: ExemplarMemory) -> None:
        self.exemplars.memory = memory

    def begin(self, task: TaskView) -> None:
        self.exemplars.add_exemplars(task.exemplars)

    def learn(self, batch: Batch) -> Losses:
        if batch.factors is None:
            raise BadInput("these images come without factors; dcl-paper needs them, dcl can do without")
        self.exemplars.add_first_images(batch)
        images = self._tensor(batch.images)
        losses = self.losses(images, torch.from_numpy(batch.factors.matrices()).to(images), batch)
        loss = torch.stack(list(losses.values())).sum()
        self.optim.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optim.step()
        self.count_flops(len(images), self.forward_flops)
        self.exemplars.clear_cache()
        return {"loss": float(loss.detach()), **{name: float(x.detach()) for name, x in losses.items()}}

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

    def end(self, task: TaskView) -> None:
        self.exemplars.calibrate(task, self.seed)

    def predict(self, images: Images, tasks: IntArray | None = None, *, reject: bool = False) -> IntArray:
        return self.exemplars.predict(images, reject=reject)

    @torch.no_grad()
    def match(self, images: Images) -> Match:
        """Warp images by the predicted matrices, and find the two nearest exemplars."""
        self.net.eval()
        pixels = self._tensor(images)
        matrices = self.net(pixels).reshape(-1, 2, 3)
        rows, distances = self.exemplars.index.nearest(to_images(affine_sample(pixels, matrices).cpu()), 2)
        poses = poses_from_matrices(matrices.cpu().double()).numpy()
        return Match.of_candidates(self.memory.labels[rows], distances, poses)

    def novelty_scores(self, match: Match, images: Images) -> Residuals:
        """The paper's ratio: distance of the nearest exemplar as a share of the second nearest."""
        return match.ratios

    def novelty(self, images: Images) -> Residuals:
        """Novelty from 0 to 1; about 1 in 100 images of known classes exceeds 0.5."""
        return self.exemplars.novelty(images)

    def estimate(self, images: Images) -> Factors:
        """The factors of each image, from the predicted matrix."""
        return self.exemplars.estimate(images)

    def nearest_exemplars(self, images: Images, k: int) -> tuple[IntArray, Residuals]:
        """Rows of the k nearest exemplars, and residuals after alignment, (n, k) each."""
        return self.exemplars.nearest(images, k)

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, next(self.net.parameters()).device)
