import numpy as np
import torch

from everlearn.learners.vase.generative_replay import ShiftPolicy, Snapshot, random_shift, shift
from everlearn.networks.divergences import bernoulli_kl, squared_wasserstein
from everlearn.networks.vae import VAE
from everlearn.rng import rng_at
from everlearn.serialization import pack, unpack


def vae(seed: int = 0) -> VAE:
    return VAE((16, 16), size="tiny", n_latents=4, n_environments=3, seed=seed)


def snapshot(n_environments: int = 3) -> Snapshot:
    """A snapshot of other weights than the live VAE has."""
    made = Snapshot(vae(seed=1))
    made.take(n_environments)
    made.live = vae()
    return made


def test_proximity_is_zero_for_unchanged_weights() -> None:
    taken = Snapshot(vae())
    taken.take(2)
    proximity = taken.proximity(taken.sample(8, [0, 1], rng_at(0, "test", 0)))
    assert proximity.encoder.item() == 0
    assert abs(proximity.decoder.item()) < 1e-4


def test_snapshot_does_not_follow_the_live_weights() -> None:
    taken = Snapshot(vae())
    taken.take(2)
    assert taken.net is not None
    before = taken.sample(8, [0, 1], rng_at(0, "test", 0)).pixels
    with torch.no_grad():
        for weight in taken.live.parameters():
            weight.mul_(2)
    assert torch.equal(taken.sample(8, [0, 1], rng_at(0, "test", 0)).pixels, before)
    assert not any(weight.requires_grad for weight in taken.net.parameters())


def test_samples_come_from_the_given_environments() -> None:
    taken = snapshot()
    samples = taken.sample(64, [0, 2], rng_at(0, "test", 0))
    assert set(samples.environments.tolist()) == {0, 2}
    assert taken.net is not None
    with torch.no_grad():
        pixels = taken.net.decoder(samples.latents, samples.environments).sigmoid()
        torch.testing.assert_close(samples.pixels, pixels)
        torch.testing.assert_close(samples.mean, taken.net.encoder(samples.pixels)[0])
    assert abs(samples.latents.std().item() - 1) < 0.2


def test_pixels_are_sampled_with_the_probabilities_of_the_decoder() -> None:
    taken = snapshot()
    mean, sampled = (
        taken.sample(256, [0], rng_at(0, "test", 0), sample_pixels=each) for each in (False, True)
    )
    assert torch.equal(mean.logits, sampled.logits)
    assert set(sampled.pixels.unique().tolist()) == {0, 1}
    assert abs(sampled.pixels.mean() - mean.pixels.mean()).item() < 0.005
    assert taken.net is not None
    with torch.no_grad():
        torch.testing.assert_close(sampled.mean, taken.net.encoder(sampled.pixels)[0])


def test_proximity_averages_both_distances() -> None:
    taken = snapshot()
    samples = taken.sample(8, [0], rng_at(0, "test", 0))
    proximity = taken.proximity(samples)
    mean, log_variance, features = taken.live.encoder(samples.pixels)
    distance = squared_wasserstein(mean, log_variance, samples.mean, samples.log_variance).mean()
    torch.testing.assert_close(proximity.encoder, distance)
    logits = taken.live.decoder(samples.latents, samples.environments)
    torch.testing.assert_close(proximity.decoder, bernoulli_kl(samples.logits, logits).mean())
    torch.testing.assert_close(proximity.features, features)


def test_without_the_decoder_distance_the_decoder_has_no_gradient() -> None:
    taken = snapshot()
    proximity = taken.proximity(taken.sample(8, [0], rng_at(0, "test", 0)), decoder=False)
    (proximity.encoder + proximity.decoder).backward()
    net = taken.live
    assert all(weight.grad is None for weight in net.decoder.parameters())
    assert any((weight.grad != 0).any() for weight in net.encoder.parameters() if weight.grad is not None)


def test_state_round_trip() -> None:
    for before, after in ((snapshot(2), Snapshot(vae(seed=3))), (Snapshot(vae()), snapshot(2))):
        after.load(unpack(pack(before.state())))
        assert pack(after.state()) == pack(before.state())
        assert after.n_environments == before.n_environments
        assert after.footprint() == before.footprint()


class CenterOfMass(torch.nn.Module):
    """Encodes an image by its center of mass in half image widths; a third latent is 0."""

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        positions = torch.linspace(-1 + 1 / 16, 1 - 1 / 16, 16)
        mass = pixels.sum((1, 2, 3))
        x = (pixels.sum((1, 2)) * positions).sum(1) / mass
        y = (pixels.sum((1, 3)) * positions).sum(1) / mass
        return torch.stack([x, y, 0 * x], 1), None, None


def centered_dots(n: int = 1) -> torch.Tensor:
    pixels = torch.zeros(n, 1, 16, 16)
    pixels[:, :, 7:9, 7:9] = 1
    return pixels


def test_shift_moves_right_and_down() -> None:
    expected = torch.zeros(1, 1, 16, 16)
    expected[:, :, 3:5, 9:11] = 1
    torch.testing.assert_close(shift(centered_dots(), torch.tensor([[0.25, -0.5]])), expected)


def test_random_shift_covers_its_range() -> None:
    positions = CenterOfMass()(random_shift(centered_dots(200), 0.5, rng_at(0, "test", 0)))[0][:, :2]
    assert positions.abs().max() <= 0.5 + 1e-5
    assert positions.min(0).values.max() < -0.4
    assert positions.max(0).values.min() > 0.4


def test_policy_learns_to_reach_targets() -> None:
    policy = ShiftPolicy(3, max_shift=0.6, seed=0)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    free = torch.tensor([True, True, False])
    losses = []
    for step in range(150):
        rng = rng_at(0, "test", step)
        shifted, loss = policy.explore(CenterOfMass(), centered_dots(32), free, rng)  # type: ignore[arg-type]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        assert not shifted.requires_grad
    # Targets z are N(0, 1) and the largest shift is 0.6, so E[max(0, |z| - 0.6)^2] = 0.346 remains.
    assert np.mean(losses[:10]) > 0.7
    assert 0.3 < np.mean(losses[-30:]) < 0.45


def test_only_free_latents_have_targets() -> None:
    policy, free = ShiftPolicy(3, max_shift=0.6, seed=0), torch.tensor([False, False, True])
    _, loss = policy.explore(CenterOfMass(), centered_dots(8), free, rng_at(0, "test", 0))  # type: ignore[arg-type]
    targets = torch.from_numpy(rng_at(0, "test", 0).normal(24)).float().view(8, 3)[:, 2]
    torch.testing.assert_close(loss, targets.square().mean())
