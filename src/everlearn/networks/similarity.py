"""Similarity transforms, four numbers each: the poses a network can learn to see.

A pose (s cos a, s sin a, x, y) leads from the canonical frame to the image, both running from -1 to 1. Read
as two complex numbers z and w it is u -> z u + w, so that composing and inverting are one line each.
"""

import torch
from torch import Tensor

from everlearn.factors import Factors

CANONICAL = (1.0, 0.0, 0.0, 0.0)
SMALLEST = 0.1


def poses_of(factors: Factors) -> Tensor:
    """The (n, 4) poses of known factors.

    Example:
        >>> poses_of(Factors(scale=2.0, x=0.75))
        tensor([[2.0000, 0.0000, 0.2500, 0.0000]])
    """
    matrices = torch.from_numpy(factors.matrices()).float()
    return torch.stack([matrices[:, 0, 0], matrices[:, 1, 0], matrices[:, 0, 2], matrices[:, 1, 2]], dim=1)


def factors_of(poses: Tensor) -> Factors:
    """The factors that poses stand for; angles are in [0, 2 pi).

    Example:
        >>> factors_of(torch.tensor([[0.0, 0.5, 0.25, 0.0]])).array().round(3)
        array([[0.5  , 1.571, 0.75 , 0.5  ]])
    """
    c, s, x, y = poses.double().unbind(1)
    scale = torch.hypot(c, s).clamp_min(1e-6)
    angle = torch.remainder(torch.atan2(s, c), 2 * torch.pi)
    return Factors(scale=scale.numpy(), angle=angle.numpy(), x=(x + 0.5).numpy(), y=(y + 0.5).numpy())


def matrices_of(poses: Tensor) -> Tensor:
    """The (n, 2, 3) matrices of poses."""
    c, s, x, y = poses.unbind(1)
    return torch.stack([torch.stack([c, -s, x], dim=1), torch.stack([s, c, y], dim=1)], dim=1)


def nearest_similarity(matrices: Tensor) -> Tensor:
    """The poses closest to (n, 2, 3) matrices that may also shear or stretch.

    Example:
        >>> nearest_similarity(torch.tensor([[[1.2, 0.0, 0.5], [0.0, 0.8, 0.0]]]))
        tensor([[1.0000, 0.0000, 0.5000, 0.0000]])
    """
    m = matrices
    c, s = (m[:, 0, 0] + m[:, 1, 1]) / 2, (m[:, 1, 0] - m[:, 0, 1]) / 2
    return torch.stack([c, s, m[:, 0, 2], m[:, 1, 2]], dim=1)


def compose(outer: Tensor, inner: Tensor) -> Tensor:
    """First `inner`, then `outer`."""
    (z, w), (u, v) = _complex(outer), _complex(inner)
    return _real(z * u, z * v + w)


def inverse(poses: Tensor) -> Tensor:
    """The way back from the image to the canonical frame.

    Example:
        >>> pose = torch.tensor([[0.6, 0.8, 0.1, -0.2]])
        >>> compose(pose, inverse(pose)).round(decimals=5).abs()
        tensor([[1., 0., 0., 0.]])
    """
    z, w = _complex(poses)
    return _real(1 / z, -w / z)


def upright(poses: Tensor) -> Tensor:
    """The same sizes and places without any turn.

    Example:
        >>> upright(torch.tensor([[0.0, 0.5, 0.1, 0.2]]))
        tensor([[0.5000, 0.0000, 0.1000, 0.2000]])
    """
    scale = torch.linalg.vector_norm(poses[:, :2], dim=1)
    return similarity(scale, torch.zeros_like(scale), poses[:, 2], poses[:, 3])


def not_tiny(poses: Tensor) -> Tensor:
    """The same poses, but none smaller than a tenth of the canonical size: a point has no way back.

    Example:
        >>> not_tiny(torch.tensor([[0.01, 0.0, 0.3, 0.0], [0.0, 0.5, 0.0, 0.0]]))
        tensor([[0.1000, 0.0000, 0.3000, 0.0000],
                [0.0000, 0.5000, 0.0000, 0.0000]])
    """
    scale = torch.linalg.vector_norm(poses[:, :2], dim=1, keepdim=True).clamp_min(1e-6)
    return torch.cat([poses[:, :2] * (SMALLEST / scale).clamp_min(1), poses[:, 2:]], dim=1)


def similarity(scale: Tensor, angle: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Poses from sizes, turns and shifts from the middle."""
    return torch.stack([scale * torch.cos(angle), scale * torch.sin(angle), x, y], dim=1)


def _complex(poses: Tensor) -> tuple[Tensor, Tensor]:
    z, w = torch.view_as_complex(poses.reshape(-1, 2, 2).contiguous()).unbind(1)
    return z, w


def _real(z: Tensor, w: Tensor) -> Tensor:
    return torch.view_as_real(torch.stack([z, w], dim=1)).reshape(-1, 4)
