"""Lessons that a learner makes itself, by moving images about."""

import torch
from torch import Tensor

from everlearn.networks.similarity import compose, inverse, similarity
from everlearn.networks.warp import normalise, place
from everlearn.rng import Rng

SMALLEST, LARGEST = 0.45, 1.1
"""Scales in which things are practised."""
NEAR_SIZE, NEAR_TURN, NEAR_SHIFT = 0.08, 0.12, 0.06
"""How far off (standard deviations) a pose is after a first look: log scale, radians, half widths."""


def anywhere(canonical: Tensor, rng: Rng) -> tuple[Tensor, Tensor]:
    """Canonical images (n, C, H, W) in any place, turn and size that is practised; and their poses."""
    n = len(canonical)
    scale, angle, x, y = torch.from_numpy(rng.uniform(4 * n)).to(canonical).reshape(4, n)
    scale = SMALLEST + (LARGEST - SMALLEST) * scale
    poses = similarity(scale, 2 * torch.pi * angle, x - 0.5, y - 0.5)
    return place(canonical, poses), poses


def nearly_canonical(images: Tensor, poses: Tensor, rng: Rng) -> tuple[Tensor, Tensor]:
    """Images in known poses brought close to the canonical one, as they look after a first look."""
    n = len(images)
    size, turn, x, y = torch.from_numpy(rng.normal(4 * n)).to(images).reshape(4, n)
    near = similarity(torch.exp(NEAR_SIZE * size), NEAR_TURN * turn, NEAR_SHIFT * x, NEAR_SHIFT * y)
    return normalise(images, compose(poses, inverse(near))), near
