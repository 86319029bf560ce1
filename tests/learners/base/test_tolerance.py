import numpy as np
import torch

from everlearn.learners.old_base.tolerance import tolerated_noise
from everlearn.rng import rng_at


class Bars(torch.nn.Module):
    """Draws the first latent strongly, the second weakly, the third only in environment 1."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor([3.0, 0.3, 0.0]))

    def forward(self, latents: torch.Tensor, environments: torch.Tensor) -> torch.Tensor:
        strength = self.gain + environments[:, None] * torch.tensor([0.0, 0.0, 3.0])
        return (latents * strength)[:, :, None].expand(-1, -1, 16)[:, None]


def test_noise_is_tolerated_where_nothing_depends_on_it() -> None:
    decoder = Bars()
    strong, weak, unused = tolerated_noise(decoder, 0, 3, rng_at(0, "test", 0))  # type: ignore[arg-type]
    assert strong < 0.5 < weak
    assert unused > 20
    assert tolerated_noise(decoder, 1, 3, rng_at(0, "test", 0))[2] < 0.5  # type: ignore[arg-type]
    assert decoder.gain.grad is None


class Faint(Bars):
    """One latent in 640 pixels, with gain 1/2."""

    def forward(self, latents: torch.Tensor, environments: torch.Tensor) -> torch.Tensor:
        return (latents * self.gain[0] / 6)[:, :, None].expand(-1, -1, 640)[:, None]


def test_the_optimum_of_a_nearly_quadratic_loss() -> None:
    """Noise s on a logit near 0 costs s^2 / 8, here 640 (s / 2)^2 / 8 = 20 s^2; less 2 ln s: s^2 = 1 / 20."""
    sizes = tolerated_noise(Faint(), 0, 1, rng_at(0, "test", 0))  # type: ignore[arg-type]
    np.testing.assert_allclose(sizes, np.sqrt(1 / 20), rtol=0.2)
