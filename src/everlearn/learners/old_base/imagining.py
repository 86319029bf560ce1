"""Acting on images, so that what was only imagined is seen."""

import torch
from torch import Tensor, nn

from everlearn.networks import seeded
from everlearn.networks.pose import affine_sample
from everlearn.networks.vae import Encoder
from everlearn.rng import Rng

N_UNITS = 64


class Policy(nn.Module):
    """Says how far to move an image so that it is described as wished.

    Args:
        n_latents: numbers that describe an image.
        reach: the farthest move along a side, in half widths of the image.
        seed: decides the first weights.
    """

    def __init__(self, n_latents: int, *, reach: float, seed: int) -> None:
        super().__init__()
        self.reach = reach
        with seeded(seed):
            self.layers = nn.Sequential(
                nn.Linear(2 * n_latents, N_UNITS),
                nn.ReLU(inplace=True),
                nn.Linear(N_UNITS, N_UNITS),
                nn.ReLU(inplace=True),
                nn.Linear(N_UNITS, 2),
                nn.Tanh(),
            )

    def forward(self, is_now: Tensor, wished: Tensor) -> Tensor:
        """(n, n_latents) twice -> (n, 2) to the right and down."""
        moves: Tensor = self.reach * self.layers(torch.cat([is_now, wished], dim=1))
        return moves


def imagine(
    policy: Policy, encoder: Encoder, pixels: Tensor, free: Tensor, rng: Rng
) -> tuple[Tensor, Tensor]:
    """Images moved to where the free latents take random values, and how far from them they still are.

    Args:
        policy: who moves them.
        encoder: who describes them; it must be frozen, since only the policy is to learn from it.
        pixels: the images (n, C, H, W).
        free: which latents are imagined to vary, (n_latents,).
        rng: draws their values.
    """
    with torch.no_grad():
        is_now = encoder(pixels)[0]
    values = torch.from_numpy(rng.normal(is_now.numel())).to(is_now).view_as(is_now)
    wished = torch.where(free, values, is_now)
    moved = shifted(pixels, policy(is_now, wished))
    missed = (encoder(moved)[0] - wished)[:, free].square().mean()
    return moved.detach(), missed


def wander(pixels: Tensor, reach: float, rng: Rng) -> Tensor:
    """Images moved augment_poses: what imagination has to be better than."""
    moves = torch.from_numpy(rng.uniform(2 * len(pixels), -reach, reach)).to(pixels)
    return shifted(pixels, moves.view(-1, 2))


def shifted(pixels: Tensor, moves: Tensor) -> Tensor:
    """Images (n, C, H, W) moved right and down by (n, 2) half widths; borders are drawn out.

    Example:
        >>> shifted(torch.tensor([[[[0.0, 1.0, 0.0, 0.0]]]]), torch.tensor([[0.5, 0.0]])).flatten()
        tensor([0., 0., 1., 0.])
    """
    still = torch.eye(2).to(moves).expand(len(moves), 2, 2)
    return affine_sample(pixels, torch.cat([still, -moves[:, :, None]], dim=2))
