import torch

from everlearn.learners.old_base.dreaming import Snapshot, proximity
from everlearn.networks.divergences import bernoulli_kl, squared_wasserstein
from everlearn.networks.vae import VAE
from everlearn.rng import rng_at
from everlearn.serialization import pack, unpack


def a_net(seed: int = 0) -> VAE:
    return VAE((16, 16), size="tiny", n_latents=4, n_environments=3, seed=seed)


def test_an_unmoved_network_is_where_its_snapshot_is() -> None:
    net = a_net()
    near = proximity(net, Snapshot(net, 2).dream(8, [0, 1], rng_at(0, "test", 0)))
    assert near.encoder.item() == 0
    assert abs(near.decoder.item()) < 1e-4


def test_a_snapshot_does_not_move_with_the_network() -> None:
    net = a_net()
    snapshot = Snapshot(net, 2)
    before = snapshot.dream(8, [0, 1], rng_at(0, "test", 0)).pixels
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(2)
    assert torch.equal(snapshot.dream(8, [0, 1], rng_at(0, "test", 0)).pixels, before)
    assert not any(weight.requires_grad for weight in snapshot.net.parameters())


def test_dreams_are_of_the_environments_asked_for_as_the_decoder_draws_them() -> None:
    snapshot = Snapshot(a_net(), 3)
    dream = snapshot.dream(64, [0, 2], rng_at(0, "test", 0))
    assert set(dream.environments.tolist()) == {0, 2}
    with torch.no_grad():
        torch.testing.assert_close(
            dream.pixels, snapshot.net.decoder(dream.latents, dream.environments).sigmoid()
        )
        torch.testing.assert_close(dream.mean, snapshot.net.encoder(dream.pixels)[0])
    assert abs(dream.latents.std().item() - 1) < 0.2


def test_proximity_is_the_mean_of_both_distances() -> None:
    net, other = a_net(), a_net(seed=1)
    dream = Snapshot(other, 1).dream(8, [0], rng_at(0, "test", 0))
    near = proximity(net, dream)
    mean, log_variance, features = net.encoder(dream.pixels)
    apart = squared_wasserstein(mean, log_variance, dream.mean, dream.log_variance).mean()
    torch.testing.assert_close(near.encoder, apart)
    logits = net.decoder(dream.latents, dream.environments)
    torch.testing.assert_close(near.decoder, bernoulli_kl(dream.logits, logits).mean())
    torch.testing.assert_close(near.features, features)


def test_without_the_decoder_s_part_nothing_pulls_at_the_decoder() -> None:
    net = a_net()
    near = proximity(net, Snapshot(a_net(seed=1), 1).dream(8, [0], rng_at(0, "test", 0)), decoder=False)
    (near.encoder + near.decoder).backward()
    assert all(weight.grad is None for weight in net.decoder.parameters())
    assert any((weight.grad != 0).any() for weight in net.encoder.parameters() if weight.grad is not None)


def test_state_round_trip() -> None:
    snapshot = Snapshot(a_net(), 2)
    other = Snapshot.loaded(a_net(seed=3), unpack(pack(snapshot.state())))
    assert pack(other.state()) == pack(snapshot.state())
    assert other.n_known == 2
