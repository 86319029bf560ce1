from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.cci_vae import CciVae
from everlearn.learners.old_base.variational import Described, Drawn
from everlearn.streams import Batch, sprites

BATCH = sprites(image_size=16, factor_values=2).task(0).train[:32]


@pytest.mark.parametrize(
    ("settings", "nats", "price"),
    [
        ({"penalty": "squared", "informative": False}, 5.0, 10 * 3.0**2),
        ({"penalty": "squared", "informative": False}, 1.5, 10 * 0.5**2),
        ({"penalty": "squared"}, 5.0, 10 * (2.5**2 + 0.5)),
        ({"penalty": "absolute", "informative": False}, 1.5, 10 * 0.5),
        ({"penalty": "absolute"}, 5.0, 10 * (2.5 + 0.5)),
        ({"penalty": "ceiling"}, 5.0, 10 * (2.5**2 + 0.5)),
        ({"penalty": "ceiling"}, 1.5, 10 * 0.5),
        ({"penalty": "ceiling", "informative": False}, 1.5, 0.0),
        ({"entangled": True}, 5.0, 5.0),
        ({"entangled": True, "beta": 4.0}, 5.0, 20.0),
    ],
)
def test_the_price_of_nats_by_hand(settings: dict[str, Any], nats: float, price: float) -> None:
    """Where C is 2, gamma 10, and half a nat says nothing."""
    learner = CciVae(image_shape=(16, 16), size="tiny", gamma=10, **settings)
    drawn = Drawn(torch.zeros(()), torch.tensor([nats - 1, 1.0]), torch.tensor([0.2, 0.3]))
    assert learner.price(drawn, 2.0).item() == pytest.approx(price)


def test_c_rises_by_its_step_and_stops() -> None:
    learner = CciVae(image_shape=(16, 16), size="tiny", capacity_step=0.4, capacity_most=1.0)
    told = [learner.learn(BATCH)["capacity"] for _ in range(4)]
    assert told == pytest.approx([0.4, 0.8, 1.0, 1.0])
    assert learner.raised(7.0, learner.n_latents) == 7.0


def test_c_does_not_rise_above_what_open_latents_can_say() -> None:
    """A latent whose standard deviation is at least 1/e says at most one nat."""
    learner = CciVae(image_shape=(16, 16), size="tiny", capacity_step=10.0, finest=np.exp(-1.0))
    assert learner.raised(0.0, 3) == pytest.approx(3.0)
    assert learner.raised(4.0, 3) == 4.0
    assert learner.raised(0.0, 24) == 10.0


def test_c_is_met_as_it_rises() -> None:
    learner = CciVae(image_shape=(16, 16), size="tiny", capacity_step=0.02, gamma=100.0)
    told = [learner.learn(BATCH) for _ in range(120)]
    assert abs(told[-1]["nats"] - told[-1]["capacity"]) < 0.5
    assert told[-1]["reconstruction"] < told[0]["reconstruction"]


def test_closed_latents_are_the_prior_and_nothing_is_learned_there() -> None:
    mean, log_variance = (torch.ones(3, 2, requires_grad=True) for _ in range(2))
    described = Described(mean, log_variance, torch.zeros(3, 1)).behind(torch.tensor([1.0, 0.0]))
    (described.mean.sum() + described.log_variance.exp().sum()).backward()
    assert described.mean[:, 1].tolist() == described.log_variance[:, 1].tolist() == [0, 0, 0]
    for given in (mean, log_variance):
        assert given.grad is not None
        assert (given.grad[:, 1] == 0).all()
        assert (given.grad[:, 0] != 0).all()


def test_the_loss_of_a_batch_is_the_formula() -> None:
    """The same weights, the same noise, written out once more."""
    learner = CciVae.tiny()
    pixels = learner.pixels(BATCH.images)
    with torch.no_grad():
        mean, log_variance, _ = learner.net.encoder(pixels)
        noise = learner.noise("latents", mean)
        z = mean + torch.exp(log_variance / 2) * noise
        p = torch.sigmoid(learner.net.decoder(z, torch.zeros(len(z), dtype=torch.long)))
        error = -(pixels * p.log() + (1 - pixels) * (1 - p).log()).sum((1, 2, 3)).mean()
        nats = (0.5 * (mean**2 + log_variance.exp() - 1 - log_variance)).sum(1).mean()
    told = learner.learn(BATCH)
    assert told["reconstruction"] == pytest.approx(error.item(), rel=1e-5)
    assert told["nats"] == pytest.approx(nats.item(), rel=1e-4)


def test_noise_has_an_address() -> None:
    learner, like = CciVae.tiny(), torch.zeros(64, 24)
    first = learner.noise("latents", like)
    assert torch.equal(first, learner.noise("latents", like))
    learner.n_steps += 1
    assert not torch.equal(first, learner.noise("latents", like))
    assert abs(float(first.mean())) < 0.1
    assert abs(float(first.std()) - 1) < 0.1


def test_what_is_described_can_be_drawn() -> None:
    learner = CciVae.tiny()
    means, spreads = learner.posterior(BATCH.images)
    assert means.shape == spreads.shape == (32, 24)
    assert (spreads > 0).all()
    np.testing.assert_array_equal(learner.encode(BATCH.images), means)
    images = learner.decode(means)
    assert images.shape == BATCH.images.shape
    assert ((images > 0) & (images < 1)).all()
    coloured = CciVae.tiny(image_shape=(16, 16, 3))
    assert coloured.decode(np.zeros((2, 24))).shape == (2, 16, 16, 3)


def test_labels_do_not_matter() -> None:
    one, two = CciVae.tiny(), CciVae.tiny()
    assert one.learn(BATCH) == two.learn(Batch(BATCH.images, BATCH.labels[::-1].copy()))


def test_impossible_settings_are_refused() -> None:
    for settings, sentence in (
        ({"gamma": -1}, "gamma is -1"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"capacity_most": -2}, "capacity_most is -2"),
        ({"n_latents": 0}, "n_latents is 0"),
        ({"size": "huge"}, "unknown size 'huge'"),
    ):
        with pytest.raises(BadInput, match=sentence):
            CciVae(image_shape=(16, 16), **settings)  # type: ignore[arg-type]
