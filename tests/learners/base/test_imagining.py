import numpy as np
import torch

from everlearn.learners.old_base.imagining import Policy, imagine, shifted, wander
from everlearn.rng import rng_at


class WhereIsIt(torch.nn.Module):
    """Describes an image by the centre of its light, in half widths; a third number stays 0."""

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        places = torch.linspace(-1 + 1 / 16, 1 - 1 / 16, 16)
        light = pixels.sum((1, 2, 3))
        x = (pixels.sum((1, 2)) * places).sum(1) / light
        y = (pixels.sum((1, 3)) * places).sum(1) / light
        return torch.stack([x, y, 0 * x], 1), None, None


def a_dot(n: int = 1) -> torch.Tensor:
    pixels = torch.zeros(n, 1, 16, 16)
    pixels[:, :, 7:9, 7:9] = 1
    return pixels


def test_images_move_right_and_down() -> None:
    moved = shifted(a_dot(), torch.tensor([[0.25, -0.5]]))
    expected = torch.zeros(1, 1, 16, 16)
    expected[:, :, 3:5, 9:11] = 1
    torch.testing.assert_close(moved, expected)


def test_wandering_reaches_everywhere_and_no_farther() -> None:
    places = WhereIsIt()(wander(a_dot(200), 0.5, rng_at(0, "test", 0)))[0][:, :2]
    assert places.abs().max() <= 0.5 + 1e-5
    assert places.min(0).values.max() < -0.4
    assert places.max(0).values.min() > 0.4


def test_a_policy_learns_to_realise_what_is_imagined() -> None:
    policy = Policy(3, reach=0.6, seed=0)
    optimiser = torch.optim.Adam(policy.parameters(), lr=3e-3)
    free = torch.tensor([True, True, False])
    misses = []
    for step in range(150):
        moved, missed = imagine(policy, WhereIsIt(), a_dot(32), free, rng_at(0, "test", step))  # type: ignore[arg-type]
        optimiser.zero_grad()
        missed.backward()
        optimiser.step()
        misses.append(missed.item())
        assert not moved.requires_grad
    # Wishes z are N(0, 1) and the farthest reach is 0.6, so E[max(0, |z| - 0.6)^2] = 0.346 must be left.
    assert np.mean(misses[:10]) > 0.7
    assert 0.3 < np.mean(misses[-30:]) < 0.45


def test_only_free_latents_are_wished_for() -> None:
    policy = Policy(3, reach=0.6, seed=0)
    _, missed = imagine(
        policy, WhereIsIt(), a_dot(8), torch.tensor([False, False, True]), rng_at(0, "test", 0)
    )  # type: ignore[arg-type]
    wished = torch.from_numpy(rng_at(0, "test", 0).normal(24)).float().view(8, 3)[:, 2]
    torch.testing.assert_close(missed, wished.square().mean())
