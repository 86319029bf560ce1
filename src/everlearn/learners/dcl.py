"""Disentangled continual learning."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from everlearn.errors import BadInput
from everlearn.learners.base import Losses, setting
from everlearn.learners.exemplar_matching import ExemplarLearner, ExemplarMatch, ExemplarStore
from everlearn.learners.image_comparison import ImageComparison, Residuals, contrast
from everlearn.learners.stateful import Names
from everlearn.networks import flops_per_image, minimize, pose, to_tensor
from everlearn.networks.moments import poses_from_moments
from everlearn.networks.pose_net import EMA, PoseNet, predict_poses
from everlearn.networks.warping import warp_to_tensor
from everlearn.rng import rng_at
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

LR_WARMUP, LR_DECAY_START = 50, 500
"""The learning rate rises linearly up to the first step number, and decays with 1/sqrt from the second."""
CHECKED_IMAGES = 32
"""Images on which the pose error of a batch is measured before it is skipped."""
SKIPPED_BATCHES = 8
"""Batches skipped without a check after one with a pose error below the threshold."""
ALL_BATCHES = 2**53
"""More batches than a task has: the network is not trained."""
FIRST_CANDIDATES = 8
"""Candidates per angle in the first search round, which is enough for most images."""
SCALE_FACTOR = 1.09
"""Ratio of neighboring scales in the search: about the scale error of the network on unseen shapes."""
NEIGHBOR_ANGLE, NEIGHBOR_SCALE, NEIGHBOR_SHIFT = 0.12, 0.12, 0.05
"""Steps of the search with the robust residual: radians, logarithm of the scale, half image widths."""
ROBUST_NOVELTY = 0.8
"""Novelty score with the robust residual that 1 in 100 known sprites exceeds; used before calibration."""
CERTAIN_RATIO = 0.25
"""A match is accepted without another search round if its residual is below this share of the runner-up's."""


class DCL(ExemplarLearner):
    """Disentangled continual learning.

    A variant of the published method (`dcl-paper`) with a smaller network and a more exact match. A network
    regresses the pose (s cos a, s sin a, x, y) of the object in an image, with a squared error; an editable
    memory stores one exemplar image per class. Prediction: estimate the pose, warp the image to the canonical
    frame, retrieve the most similar exemplars, align each to the image, and answer with the class of the
    smallest residual. Class knowledge is only in the memory, so nothing is forgotten; a class is added and
    removed with its exemplar.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = DCL.tiny()
        >>> learner.memory.add(task.exemplars)
        >>> (learner.predict(task.exemplars.images) == task.exemplars.labels).all()
        np.True_

    Reference: Dziadzio et al. 2023, "Infinite dSprites for disentangled continual learning",
    arXiv:2312.16731.
    """

    pose_estimator: Literal["network", "moments"] = setting(
        'first estimate of a pose: by the "network", or from image "moments", which needs no training',
        default="network", late=True,
    )  # fmt: skip
    train_tasks: int = setting(
        "tasks on which the pose network is trained before it is frozen; -1: all tasks",
        default=-1, ge=-1, le=10**9, late=True,
    )  # fmt: skip
    pose_supervision: Literal["factors", "exemplars"] = setting(
        'targets of the pose network: "factors", the ground truth of the images, or "exemplars", pose '
        "augmentation of the stored exemplars, which needs no ground truth",
        default="factors",
    )
    backbone: str = setting(
        "backbone of the pose network: small, or resnet18, which costs about fifty times as much",
        default="small",
    )
    input_size: int = setting(
        "pixels per side that the pose network sees; larger images are average-pooled",
        default=32, ge=8, le=512,
    )  # fmt: skip
    width: int = setting("channels of the first layer of the small backbone", default=16, ge=1, le=512)
    pose_parameterization: Literal["similarity", "matrix"] = setting(
        'outputs of the pose network: the four parameters of a "similarity", or the six of its "matrix"',
        default="similarity",
    )
    learning_rate: float = setting(
        "peak learning rate of Adam, which decays with 1/sqrt of the step", default=1e-3, ge=1e-9, le=1
    )
    n_refinements: int = setting(
        "pose predictions after the first, each in the frame of the previous one", default=1, ge=0, le=99
    )
    ema_decay: float = setting(
        "decay of the moving average of weights used for prediction; 0 uses the latest weights",
        default=0.995, ge=0, le=0.99999,
    )  # fmt: skip
    n_candidates: int = setting(
        "exemplars aligned to an image without a certain match; 0 takes the nearest exemplar without "
        "alignment",
        default=50, ge=0, le=10_000,
    )  # fmt: skip
    n_search_rounds: int = setting(
        "searches for candidates, each from the pose aligned in the previous one", default=3, ge=1, le=100
    )
    n_angles: int = setting(
        "angles searched, spread over the full circle; 1 trusts the network's angle, more train it on "
        "position and scale only (24 suits characters, whose angle cannot be seen)",
        default=1, ge=1, le=360,
    )  # fmt: skip
    n_scales: int = setting(
        "scales searched for an image without a certain match, in steps of 9 %; 1 trusts the network's scale",
        default=3, ge=1, le=9,
    )  # fmt: skip
    skip_threshold: float = setting(
        "mean pose error, in half image widths, below which batches are skipped; 0 trains on all",
        default=0.012, ge=0,
    )  # fmt: skip
    residual: Literal["squared", "robust"] = setting(
        'errors of pixels that candidates are ranked by: "squared", or "robust", which bounds them, so that '
        "what hides a part of an object counts little",
        default="squared", late=True,
    )  # fmt: skip
    illumination: Literal["none", "plane"] = setting(
        'light that is divided out before images are compared: "none", or a "plane" that is fitted to the '
        "background",
        default="none", late=True,
    )  # fmt: skip
    block: int = setting("pooling size of the index; 1 compares whole images", default=4, ge=1, le=64)

    parts: ClassVar[Names] = ("net", "average", "optim")
    counters: ClassVar[Names] = ("n_steps", "n_to_skip", "pose_error")
    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pose network": {"pose_estimator": "moments"},
        "training": {"train_tasks": 0},
        "small backbone": {"backbone": "resnet18"},
        "similarity parameterization": {"pose_parameterization": "matrix"},
        "pose refinement": {"n_refinements": 0},
        "weight averaging": {"ema_decay": 0.0},
        "alignment": {"n_candidates": 0},
        "repeated search": {"n_search_rounds": 1},
        "scale search": {"n_scales": 1},
        "batch skipping": {"skip_threshold": 0.0},
        "pooled index": {"block": 1},
    }

    def setup(self) -> None:
        if self.pose_supervision == "exemplars" or not self._trains(0):
            self.supervision = "labelled images, exemplars"
        self.exemplars = ExemplarStore(self.block, ImageComparison(self.residual, self.illumination))
        if self.residual == "robust":
            # What hides an object is the same for all candidates, and brings their residuals together.
            self.initial_novelty, self.max_calibration_ratio = ROBUST_NOVELTY, 1.0
        self.net = PoseNet(
            self.image_shape, backbone=self.backbone, input_size=self.input_size, width=self.width,
            parameterization=self.pose_parameterization, seed=self.seed,
        )  # fmt: skip
        self.average = EMA(self.net, self.ema_decay)
        self.optim = torch.optim.Adam(self.net.parameters(), lr=self.learning_rate, fused=True)
        self.n_steps, self.n_to_skip, self.pose_error = 0, 0 if self._trains(0) else ALL_BATCHES, 0.0
        self.forward_flops = flops_per_image(self.net, self.image_shape)

    def begin(self, task: TaskView) -> None:
        super().begin(task)
        if not self._trains(task.index):
            self.n_to_skip = ALL_BATCHES

    def learn(self, batch: Batch) -> Losses:
        self.add_first_images(batch)
        if self.n_to_skip:
            self.n_to_skip -= 1
            return {"pose_error": self.pose_error, "trained": 0.0}
        images, poses = self.training_poses(batch)
        if self.skip_threshold:
            predicted = predict_poses(self.average.net, images[:CHECKED_IMAGES], self.n_refinements)
            self.pose_error = float((predicted - poses[:CHECKED_IMAGES]).abs().mean())
            if self.pose_error < self.skip_threshold:
                self.n_to_skip = SKIPPED_BATCHES
                return {"pose_error": self.pose_error, "trained": 0.0}
        if self.n_refinements:
            images, poses = self.with_near_canonical(images, poses)
        self.pose_error = self.step(images, poses)
        return {"pose_error": self.pose_error, "trained": 1.0}

    def training_poses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Images with known poses: the batch and its factors, or augmented exemplars."""
        if self.pose_supervision == "exemplars":
            rng = rng_at(self.seed, "dcl anywhere", self.n_steps)
            rows = rng.integers(len(batch), len(self.memory))
            images, poses = pose.augment_poses(self._tensor(self.memory.images[rows]), rng)
        elif batch.factors is not None:
            images, poses = self._tensor(batch.images), pose.poses_from_factors(batch.factors)
        else:
            raise BadInput("these images come without factors; set pose_supervision to 'exemplars'")
        return images, self._targets(poses.to(images))

    def with_near_canonical(self, images: Tensor, poses: Tensor) -> tuple[Tensor, Tensor]:
        """Add half of the images close to the canonical frame, as refinements will see them."""
        half, rng = (len(images) + 1) // 2, rng_at(self.seed, "dcl near", self.n_steps)
        near, near_poses = pose.augment_near_canonical(images[:half], poses[:half], rng)
        return torch.cat([near, images]), torch.cat([self._targets(near_poses), poses])

    def step(self, images: Tensor, poses: Tensor) -> float:
        """One optimizer step on the squared pose error; returns the mean absolute error."""
        n = self.n_steps + 1
        factor = min(1.0, n / LR_WARMUP) * min(1.0, math.sqrt(LR_DECAY_START / n))
        for group in self.optim.param_groups:
            group["lr"] = self.learning_rate * factor
        self.net.train()
        errors = self.net.errors(images, poses)
        minimize(errors.square().mean(), self.optim)
        self.n_steps = n
        self.count_flops(len(images), self.forward_flops)
        self.average.update(self.net, n)
        self.exemplars.cache.clear()
        return float(errors.detach().abs().mean())

    def match(self, images: Images) -> ExemplarMatch:
        """Predict poses, retrieve candidates from the memory, and align them.

        The aligned pose of the best candidate is better than the predicted one, even if the candidate is
        wrong. So images without a certain match are searched again from that pose, with more candidates.
        """
        poses, images = self.estimate_poses(images), self.exemplars.evenly_lit(images)
        if not self.n_candidates:
            return self.exemplars.nearest(pose.canonical_images(images, poses), poses.double().numpy())
        n_first = min(FIRST_CANDIDATES * self.n_angles, self.n_candidates)
        match = self.exemplars.search(images, poses, n_first, search_grid(self.n_angles, 1))
        is_near = self.residual == "robust" and self.n_angles == 1
        grid = neighbor_grid() if is_near else search_grid(self.n_angles, self.n_scales)
        has_moved = np.ones(len(images), bool)  # another search from the same pose would find the same
        for _ in range(self.n_search_rounds - 1):
            is_certain = match.residuals <= CERTAIN_RATIO * match.runner_up_residuals
            uncertain = np.flatnonzero(~is_certain & has_moved)
            if not len(uncertain):
                break
            before = match[uncertain]
            aligned = torch.from_numpy(before.poses).float()
            again = self.exemplars.search(images[uncertain], aligned, self.n_candidates, grid)
            match.replace(uncertain, before.best_of(again))
            has_moved[uncertain] = (match.poses[uncertain] != before.poses).any(1)
        return match

    def estimate_poses(self, images: Images) -> Tensor:
        """Poses (n, 4) from which the search starts."""
        if self.pose_estimator == "moments":
            return poses_from_moments(images)
        tensor = self._tensor(images)
        if tensor.device.type != "cpu":
            return predict_poses(self.average.net, tensor, self.n_refinements).cpu()
        # Compiled code warps in a fraction of the time.
        return predict_poses(
            self.average.net, tensor, self.n_refinements, lambda _, poses: warp_to_tensor(images, poses)
        )

    def novelty_scores(self, match: ExemplarMatch, images: Images) -> Residuals:
        """The unexplained share of the image's contrast, times the residual ratio.

        With the robust residual only the ratio: what hides an object is explained by no exemplar.
        """
        if self.residual == "robust":
            return match.ratios
        unexplained: Residuals = match.residuals / contrast(self.exemplars.evenly_lit(images))
        return unexplained * match.ratios

    def _trains(self, task: int) -> bool:
        """Whether the network is trained on a task."""
        return self.pose_estimator == "network" and (self.train_tasks < 0 or task < self.train_tasks)

    def _targets(self, poses: Tensor) -> Tensor:
        return poses if self.n_angles == 1 else pose.without_rotation(poses)

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, self.net.head.weight.device)


def search_grid(n_angles: int, n_scales: int) -> Tensor:
    """Pose changes (n_angles * n_scales, 4): angles over the full circle, scales around 1.

    Example:
        >>> search_grid(1, 3)[:, 0]
        tensor([0.9174, 1.0000, 1.0900])
    """
    angle = (torch.arange(n_angles) * (2 * torch.pi / n_angles)).repeat(n_scales)
    scale = (SCALE_FACTOR ** (torch.arange(n_scales) - (n_scales - 1) / 2)).repeat_interleave(n_angles)
    return pose.similarity(scale, angle, torch.zeros_like(scale), torch.zeros_like(scale))


def neighbor_grid() -> Tensor:
    """Pose changes (125, 4): five angles, five scales and five positions around a pose.

    The network estimates poses poorly if most of an object is hidden.

    Example:
        >>> neighbor_grid()[:, 2:].unique(dim=0)
        tensor([[-0.0500,  0.0000],
                [ 0.0000, -0.0500],
                [ 0.0000,  0.0000],
                [ 0.0000,  0.0500],
                [ 0.0500,  0.0000]])
    """
    steps = torch.arange(-2.0, 3.0)
    shifts = NEIGHBOR_SHIFT * torch.tensor([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
    which = torch.cartesian_prod(*[torch.arange(5)] * 3)
    angle, scale = NEIGHBOR_ANGLE * steps[which[:, 0]], torch.exp(NEIGHBOR_SCALE * steps[which[:, 1]])
    return pose.similarity(scale, angle, *shifts[which[:, 2]].T)
