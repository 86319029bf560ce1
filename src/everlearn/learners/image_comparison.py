"""Comparison of images with exemplars: removal of uneven light, candidates and residuals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from everlearn.memory.search import NearestIndex
from everlearn.networks.alignment import residual_scales
from everlearn.networks.illumination import without_illumination
from everlearn.networks.warping import warp
from everlearn.rng import IntArray
from everlearn.streams.stream import Images

Residuals = npt.NDArray[np.float64]

CODE_FACTOR = 2.0
"""Scale of the robust residual of codes relative to that of pixels, because the tried poses are not exact."""
MAX_WARPED = 2048
"""Images that are warped together."""


@dataclass(frozen=True)
class ImageComparison:
    """The comparison of images with exemplars.

    Attributes:
        residual: "squared" errors of pixels, or "robust" ones, which are bounded.
        illumination: "plane" divides images by a plane of light.
    """

    residual: Literal["squared", "robust"] = "squared"
    illumination: Literal["none", "plane"] = "none"

    def evenly_lit(self, images: Images, exemplars: Images) -> Images:
        """Images with the light of the exemplars, whose background has the level of their corner pixels."""
        if self.illumination == "none" or not len(exemplars):
            return images
        return without_illumination(_channels(images), background(exemplars)).reshape(images.shape)

    def candidates(
        self, index: NearestIndex, images: Images, poses: Tensor, k: int, exemplars: Images
    ) -> tuple[IntArray, npt.NDArray[np.float32]]:
        """The k rows that are most similar to images in poses (n, m, 4), and their distances, (n * m, k).

        A robust distance refers to pixels of the original image, minus the distance of a plain image: poses
        of different scale cover different parts of an image.
        """
        n, m = poses.shape[:2]
        if self.residual == "squared":
            return index.candidates(_warped(images, poses), k)
        scales = CODE_FACTOR * residual_scales(_channels(images))[:, -1]
        found, step = [], max(1, MAX_WARPED // m)
        for start in range(0, n, step):
            part = slice(start, start + step)
            warped = _warped(images[part], poses[part])
            found.append(index.robust_candidates(warped, k, scales[part].repeat(m), background(exemplars)))
        rows, distances = (np.concatenate(each) for each in zip(*found, strict=True))
        areas = poses[..., :2].square().sum(2).numpy().reshape(-1, 1)
        return rows, distances * areas

    def scales(self, images: Images) -> Residuals | None:
        """Scales (n, stages) of the robust residual; None for squared errors."""
        return residual_scales(_channels(images)) if self.residual == "robust" else None


def contrast(images: Images) -> Residuals:
    """Sums (n,) of squared differences from the first pixel of each image, at least 1."""
    flat = images.reshape(len(images), -1, *images.shape[3:]).astype(np.float64)
    return np.maximum(np.square(flat - flat[:, :1]).reshape(len(images), -1).sum(1), 1.0)


def background(exemplars: Images) -> Residuals:
    """The median level (C,) of corner pixels."""
    return np.asarray(np.median(_channels(exemplars[:, :1, :1]), axis=(0, 1, 2)), np.float64)


def _warped(images: Images, poses: Tensor) -> npt.NDArray[np.float32]:
    """Images (n,) warped to the canonical frame from poses (n, m, 4), (n * m, H, W)."""
    n, m = poses.shape[:2]
    return warp(images, np.arange(n).repeat(m), poses.reshape(-1, 4).double().numpy())


def _channels(images: Images) -> Images:
    """Images (n, H, W, C)."""
    return np.ascontiguousarray(images).reshape(*images.shape[:3], -1)
