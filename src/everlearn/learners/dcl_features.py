"""Disentangled continual learning with frozen features instead of a trained pose network."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.exemplar_matching import ExemplarLearner, ExemplarMatch, ExemplarStore
from everlearn.learners.feature_index import FeatureIndex, Views
from everlearn.learners.image_comparison import Residuals, contrast
from everlearn.learners.stateful import Names
from everlearn.networks import flops_per_image, make_backbone, pose, to_tensor
from everlearn.networks.alignment import CONTRAST
from everlearn.networks.moments import poses_from_moments
from everlearn.rng import IntArray
from everlearn.streams import Batch
from everlearn.streams.stream import Images

INDEX_BLOCK = 4
"""Pooling size of the pixel index, which shows the nearest exemplars."""
ZOOM = 0.6
"""Scale of views: shapes of scale 1 fill about half of an image, and more of a view."""
MAX_BORDER = 0.3
"""Largest share of the border that an object in front of a plain background may cover."""
DESCRIBED_BATCH = 32
"""Views whose features are computed together: more do not fit into the processor's cache."""

Flags = npt.NDArray[np.bool_]


class DCLFeatures(ExemplarLearner):
    """Disentangled continual learning with frozen features.

    The memory stores exemplars of each class, as in `dcl`. Exemplars and images are compared by the features
    of a frozen backbone, as unit vectors. An object in front of a plain background is brought to one position
    and size by its moments and compared in several rotations; then the most similar exemplars are aligned to
    the image, and the share of its contrast that they explain counts as well. Any other image is compared as
    a whole, by features alone. Nothing is trained, so nothing is forgotten. It fails where the features do:
    use pretrained weights for photos.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = DCLFeatures.tiny()
        >>> learner.memory.add(task.exemplars)
        >>> (learner.predict(task.exemplars.images) == task.exemplars.labels).all()
        np.True_

    References: Dziadzio et al. 2023, "Infinite dSprites for disentangled continual learning",
    arXiv:2312.16731, for the memory; docs/decisions/0020 for the rest.
    """

    backbone: str = setting(
        'frozen network: "pooled", "small", "resnet18", or with ImageNet weights "efficientnet-lite0", '
        '"mobilenet-v1" or "mobilenet-v1-0.25"',
        default="pooled",
    )
    weights: str = setting(
        "weights of the backbone: a .safetensors file, such as `everlearn pretrain` writes, or "
        '"imagenet"; random if empty',
        default="",
    )
    input_size: int = setting("pixels per side that the backbone sees", default=64, ge=8, le=512)
    n_exemplars: int = setting("images stored of each class, the first ones", default=1, ge=1, le=100_000)
    n_angles: int = setting(
        "rotations of an object in front of a plain background; 1 compares it upright",
        default=16, ge=1, le=360,
    )  # fmt: skip
    n_candidates: int = setting(
        "classes whose best exemplar is aligned to an object in front of a plain background; 0 compares "
        "features only",
        default=8, ge=0, le=1000,
    )  # fmt: skip
    alignment_weight: float = setting(
        "weight of the explained contrast relative to the similarity of features", default=1.0, ge=0, le=1000
    )

    parts: ClassVar[Names] = ("net",)
    supervision = "labelled images, exemplars"
    tiny_settings: ClassVar[Mapping[str, Any]] = {"input_size": 16, "n_angles": 4, "n_candidates": 3}
    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "alignment": {"n_candidates": 0},
        "rotations": {"n_angles": 1},
    }

    def setup(self) -> None:
        if self.weights:
            self.supervision += ", a pretrained network"
        self.exemplars = ExemplarStore(INDEX_BLOCK)
        shape = (self.input_size, self.input_size, *self.image_shape[2:])
        self.net = make_backbone(self.backbone, shape, self.seed)
        if self.weights:
            from everlearn.networks.weights import load_backbone  # most runs need neither it nor its imports

            load_backbone(self.net, self.weights)
        self.net.eval().requires_grad_(False)
        self.index = FeatureIndex(self.describe_exemplars)
        self.forward_flops = flops_per_image(self.net, shape)

    def learn(self, batch: Batch) -> Losses:
        """Store the first images of classes that have too few."""
        rows = np.concatenate([self._to_store(batch, label) for label in np.unique(batch.labels).tolist()])
        new = Batch(batch.images[rows], batch.labels[rows])
        n_views = np.where(is_plain(new.images), self.n_angles, 1).sum()
        self.count_flops(int(n_views), self.forward_flops, backward=False)
        self.memory.add(new)
        return {"stored": float(len(new))}

    def match(self, images: Images) -> ExemplarMatch:
        """The class with the most similar exemplar, after the best ones were aligned to the image."""
        self.index.update(self.memory)
        poses, plain = frames(images), is_plain(images)
        k = max(2, self.n_candidates)  # two, for a runner-up
        found = self.index.nearest(self.describe(images, poses), self.memory.labels, k)
        starts = self.index.poses(poses, found.views)
        distances = 1.0 - found.similarities
        best = starts[torch.arange(len(images)), torch.from_numpy(distances.argmin(1))].double().numpy()
        if self.n_candidates and plain.any():
            at = np.flatnonzero(plain)
            unexplained, aligned = self._align(images[at], found.rows[at], starts[at], distances[at])
            distances[at] += self.alignment_weight * unexplained
            best[at] = aligned
        return ExemplarMatch.of_candidates(self.memory.labels[found.rows], distances, best)

    def novelty_scores(self, match: ExemplarMatch, images: Images) -> Residuals:
        """The distance of features plus the unexplained share of the contrast, times the ratio."""
        return np.maximum(match.residuals, 0.0) * match.ratios

    def describe(self, images: Images, poses: Tensor) -> npt.NDArray[np.float32]:
        """Unit vectors (n, n_features) of images in frames."""
        batches = [slice(i, i + DESCRIBED_BATCH) for i in range(0, len(images), DESCRIBED_BATCH)]
        parts = [self._features(view_of(images[each], poses[each], self.input_size)) for each in batches]
        return np.concatenate([np.zeros((0, self.net.n_features), np.float32), *parts])

    def describe_exemplars(self, images: Images) -> Views:
        """All views of exemplars."""
        n_views = np.where(is_plain(images), self.n_angles, 1)
        rows = np.repeat(np.arange(len(images)), n_views)
        turns = np.concatenate([np.arange(n) for n in n_views]) * (2 * np.pi / np.repeat(n_views, n_views))
        angles, zeros = torch.from_numpy(turns).float(), torch.zeros(len(turns))
        poses = pose.compose(frames(images)[rows], pose.similarity(zeros + 1, angles, zeros, zeros))
        return Views(self.describe(images[rows], poses), rows, poses)

    def on_load(self) -> None:
        self.index = FeatureIndex(self.describe_exemplars)

    def _features(self, views: Tensor) -> npt.NDArray[np.float32]:
        device = next(self.net.parameters()).device
        with torch.no_grad():
            features: Tensor = self.net(views.to(device)).cpu()
        return functional.normalize(features.float(), dim=1).numpy()

    def _align(
        self, images: Images, rows: IntArray, starts: Tensor, distances: Residuals
    ) -> tuple[Residuals, npt.NDArray[np.float64]]:
        """The share of the contrast of images that candidates (n, m) do not explain, and the best poses."""
        residuals, _ = self.exemplars.align(images, rows, starts)
        unexplained: Residuals = np.minimum(residuals / contrast(images)[:, None], 1.0)
        best = (distances + self.alignment_weight * unexplained).argmin(1)
        chosen = rows[np.arange(len(rows)), best][:, None]
        _, poses = self.exemplars.align(images, chosen, starts[torch.arange(len(rows)), best][:, None])
        return unexplained, poses

    def _to_store(self, batch: Batch, label: int) -> IntArray:
        n_stored = len(self.memory.images_of(label)) if label in self.memory else 0
        return np.flatnonzero(batch.labels == label)[: max(0, self.n_exemplars - n_stored)]


def is_plain(images: Images) -> Flags:
    """Whether the border of each image has one level, except where an object covers it.

    Example:
        >>> is_plain(np.stack([np.zeros((8, 8), np.uint8), np.arange(64, dtype=np.uint8).reshape(8, 8)]))
        array([ True, False])
    """
    levels = (images if images.ndim == 4 else images[..., None]).astype(np.int64)
    border = np.concatenate([levels[:, 0], levels[:, -1], levels[:, :, 0], levels[:, :, -1]], axis=1)
    differs = (np.abs(border - levels[:, :1, 0]) > CONTRAST).any(axis=2)
    return np.asarray(differs.mean(axis=1) <= MAX_BORDER)


def frames(images: Images) -> Tensor:
    """Poses (n, 4) of the frames that images are compared in, without rotation."""
    whole = torch.tensor(pose.CANONICAL).repeat(len(images), 1)
    objects = pose.without_rotation(poses_from_moments(images))
    objects[:, :2] *= ZOOM
    return torch.where(torch.from_numpy(is_plain(images))[:, None], objects, whole)


def view_of(images: Images, poses: Tensor, size: int) -> Tensor:
    """Images in frames (n, C, size, size)."""
    tensors = to_tensor(images)
    matrices = pose.matrices_from_poses(poses)
    grid = functional.affine_grid(matrices, [*tensors.shape[:2], size, size], align_corners=False)
    return functional.grid_sample(tensors, grid, padding_mode="border", align_corners=False)
