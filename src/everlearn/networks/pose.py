"""Poses as similarity transforms: their algebra, warping of images, and pose augmentation.

A pose (s cos a, s sin a, x, y) maps the canonical frame to the image; both frames run from -1 to 1. Read as
two complex numbers z and w it is the map u -> z u + w, so composition and inversion are one line each.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.factors import Factors
from everlearn.networks.devices import to_like
from everlearn.networks.tensors import MID_GRAY, to_tensor
from everlearn.rng import Rng

CANONICAL = (1.0, 0.0, 0.0, 0.0)
MIN_SCALE = 0.1
"""Smallest scale of a predicted pose; a pose of scale 0 has no inverse."""
AUGMENT_SCALES = (0.45, 1.1)
"""Range of scales in pose augmentation."""
NEAR_LOG_SCALE, NEAR_ANGLE, NEAR_SHIFT = 0.08, 0.12, 0.06
"""Standard deviations of the pose error after a first prediction: log scale, radians, half image widths."""


def poses_from_factors(factors: Factors) -> Tensor:
    """Poses (n, 4) of ground-truth factors."""
    matrices = torch.from_numpy(factors.matrices()).float()
    return torch.stack([matrices[:, 0, 0], matrices[:, 1, 0], matrices[:, 0, 2], matrices[:, 1, 2]], dim=1)


def factors_from_poses(poses: Tensor) -> Factors:
    """Factors of poses (n, 4); angles are in [0, 2 pi)."""
    c, s, x, y = poses.double().unbind(1)
    scale = torch.hypot(c, s).clamp_min(1e-6)
    angle = torch.remainder(torch.atan2(s, c), 2 * torch.pi)
    return Factors(scale=scale.numpy(), angle=angle.numpy(), x=(x + 0.5).numpy(), y=(y + 0.5).numpy())


def matrices_from_poses(poses: Tensor) -> Tensor:
    """Affine matrices (n, 2, 3) of poses."""
    c, s, x, y = poses.unbind(1)
    return torch.stack([torch.stack([c, -s, x], dim=1), torch.stack([s, c, y], dim=1)], dim=1)


def poses_from_matrices(matrices: Tensor) -> Tensor:
    """Least-squares poses of affine matrices (n, 2, 3), which may include shear.

    Example:
        >>> poses_from_matrices(torch.tensor([[[1.2, 0.0, 0.5], [0.0, 0.8, 0.0]]]))
        tensor([[1.0000, 0.0000, 0.5000, 0.0000]])
    """
    m = matrices
    c, s = (m[:, 0, 0] + m[:, 1, 1]) / 2, (m[:, 1, 0] - m[:, 0, 1]) / 2
    return torch.stack([c, s, m[:, 0, 2], m[:, 1, 2]], dim=1)


def similarity(scale: Tensor, angle: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Poses from scales, angles and shifts from the image center."""
    return torch.stack([scale * torch.cos(angle), scale * torch.sin(angle), x, y], dim=1)


def compose(outer: Tensor, inner: Tensor) -> Tensor:
    """Poses that apply `inner` first, then `outer`."""
    (z, w), (u, v) = _complex(outer), _complex(inner)
    return _real(z * u, z * v + w)


def inverse(poses: Tensor) -> Tensor:
    """Inverse poses, from the image to the canonical frame."""
    z, w = _complex(poses)
    return _real(1 / z, -w / z)


def without_rotation(poses: Tensor) -> Tensor:
    """Poses of the same scale and position with angle 0.

    Example:
        >>> without_rotation(torch.tensor([[0.0, 0.5, 0.1, 0.2]]))
        tensor([[0.5000, 0.0000, 0.1000, 0.2000]])
    """
    scale = torch.linalg.vector_norm(poses[:, :2], dim=1)
    return similarity(scale, torch.zeros_like(scale), poses[:, 2], poses[:, 3])


def clamp_scale(poses: Tensor) -> Tensor:
    """Poses with scales of at least `MIN_SCALE`.

    Example:
        >>> clamp_scale(torch.tensor([[0.01, 0.0, 0.3, 0.0], [0.0, 0.5, 0.0, 0.0]]))
        tensor([[0.1000, 0.0000, 0.3000, 0.0000],
                [0.0000, 0.5000, 0.0000, 0.0000]])
    """
    scale = torch.linalg.vector_norm(poses[:, :2], dim=1, keepdim=True).clamp_min(1e-6)
    return torch.cat([poses[:, :2] * (MIN_SCALE / scale).clamp_min(1), poses[:, 2:]], dim=1)


def to_canonical(images: Tensor, poses: Tensor) -> Tensor:
    """Warp images (n, C, H, W) of objects in known poses to the canonical frame, with border padding."""
    return affine_sample(images, matrices_from_poses(poses))


def canonical_images(images: npt.NDArray[np.uint8], poses: Tensor) -> npt.NDArray[np.float32]:
    """Images (n, H, W[, 3]) of objects in known poses, warped to the canonical frame; not rounded."""
    return to_images(to_canonical(to_tensor(images), poses))


def from_canonical(images: Tensor, poses: Tensor) -> Tensor:
    """Warp canonical images (n, C, H, W) to poses.

    Averages four samples per pixel when it shrinks an object, to prevent aliasing.
    """
    inverses = inverse(poses)
    # A pixel at scale s covers a square of width 1 / s of the canonical image, which itself averages over a
    # square of width 1. Four samples at this offset have the variance by which the two differ.
    missing = (inverses[:, :2].square().sum(1) - 1).clamp_min(0) / 12
    step = missing.sqrt() * (2 / images.shape[-1])
    corners = [torch.stack([dx * step, dy * step], dim=1) for dx in (-1, 1) for dy in (-1, 1)]
    shifted = [torch.cat([inverses[:, :2], inverses[:, 2:] + corner], dim=1) for corner in corners]
    return torch.stack([to_canonical(images, each) for each in shifted]).mean(0)


def affine_sample(images: Tensor, matrices: Tensor) -> Tensor:
    """Sample images on the grids of affine matrices (n, 2, 3), bilinearly, with border padding."""
    grid = functional.affine_grid(matrices, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def to_images(tensors: Tensor) -> npt.NDArray[np.float32]:
    """Convert tensors (n, C, H, W) of `to_tensor` to images (n, H, W[, C]) from 0 to 255, not rounded."""
    levels = tensors.add(MID_GRAY).mul_(255).permute(0, 2, 3, 1)
    return (levels if levels.shape[3] > 1 else levels[..., 0]).numpy()


def to_uint8(tensors: Tensor) -> npt.NDArray[np.uint8]:
    """Convert tensors (n, C, H, W) to uint8 images (n, H, W[, C]); the inverse of `to_tensor`."""
    return to_images(tensors).round().clip(0, 255).astype(np.uint8)


def augment_poses(canonical: Tensor, rng: Rng) -> tuple[Tensor, Tensor]:
    """Canonical images (n, C, H, W) warped to uniformly random poses; returns images and poses."""
    n = len(canonical)
    scale, angle, x, y = to_like(rng.uniform(4 * n), canonical).reshape(4, n)
    low, high = AUGMENT_SCALES
    scale = low + (high - low) * scale
    poses = similarity(scale, 2 * torch.pi * angle, x - 0.5, y - 0.5)
    return from_canonical(canonical, poses), poses


def augment_near_canonical(images: Tensor, poses: Tensor, rng: Rng) -> tuple[Tensor, Tensor]:
    """Images in known poses warped close to the canonical frame, as after a first pose prediction."""
    n = len(images)
    scale, angle, x, y = torch.from_numpy(rng.normal(4 * n)).to(images).reshape(4, n)
    near = similarity(torch.exp(NEAR_LOG_SCALE * scale), NEAR_ANGLE * angle, NEAR_SHIFT * x, NEAR_SHIFT * y)
    return to_canonical(images, compose(poses, inverse(near))), near


def _complex(poses: Tensor) -> tuple[Tensor, Tensor]:
    z, w = torch.view_as_complex(poses.reshape(-1, 2, 2).contiguous()).unbind(1)
    return z, w


def _real(z: Tensor, w: Tensor) -> Tensor:
    return torch.view_as_real(torch.stack([z, w], dim=1)).reshape(-1, 4)
