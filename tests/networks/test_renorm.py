import pytest
import torch
from torch import nn

from everlearn.networks.backbones import ResNet18
from everlearn.networks.renorm import LARGEST_SHIFT, LARGEST_STRETCH, BatchRenorm, renormalised, set_pace


def settled(mean: float, deviation: float) -> BatchRenorm:
    """A layer that has seen so many batches that its averages hardly move."""
    layer = BatchRenorm(1, pace=1e-4)
    layer.mean.fill_(mean)
    layer.deviation.fill_(deviation)
    layer.n_batches.fill_(10**6)
    return layer


def batch(n: int = 64) -> torch.Tensor:
    return torch.randn(n, 1, 3, 3, generator=torch.Generator().manual_seed(0))


def test_within_its_limits_it_says_in_training_what_it_says_when_asked() -> None:
    layer, given = settled(0.3, 1.1), batch()
    torch.testing.assert_close(layer(given), layer.eval()(given), atol=1e-3, rtol=0)
    torch.testing.assert_close(layer(given), (given - 0.3) / 1.1, atol=1e-3, rtol=0)


def test_beyond_them_it_is_batch_normalisation_stretched_and_shifted_that_far() -> None:
    layer, given = settled(-50.0, 0.01), batch()
    plain = (given - given.mean()) / given.var(correction=0).add(1e-5).sqrt()
    torch.testing.assert_close(layer(given), plain * LARGEST_STRETCH + LARGEST_SHIFT, atol=1e-4, rtol=1e-4)


def test_the_first_batch_is_normalised_by_itself() -> None:
    given = batch()
    torch.testing.assert_close(BatchRenorm(1)(given), nn.BatchNorm2d(1)(given), atol=1e-5, rtol=1e-5)


def test_slopes_take_the_correction_as_a_constant() -> None:
    layer, given = settled(0.2, 1.05), batch(8).requires_grad_()
    weights = torch.randn(given.shape, generator=torch.Generator().manual_seed(1))
    (ours,) = torch.autograd.grad((layer(given) * weights).sum(), given)
    mean, deviation = given.mean(), given.var(correction=0).add(1e-5).sqrt()
    r, d = (deviation / 1.05).detach(), ((mean - 0.2) / 1.05).detach()
    (expected,) = torch.autograd.grad((((given - mean) / deviation * r + d) * weights).sum(), given)
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-3)


def test_averages_start_evenly_and_then_follow_the_pace() -> None:
    layer = BatchRenorm(1, pace=0.25)
    for value in (0.0, 2.0, 4.0):
        layer(torch.full((2, 1), value) + torch.tensor([[-1.0], [1.0]]))
    assert layer.mean.item() == pytest.approx(2.0)
    set_pace(nn.Sequential(layer), 0.5)
    layer(torch.full((2, 1), 10.0) + torch.tensor([[-1.0], [1.0]]))
    assert layer.mean.item() == pytest.approx(6.0)
    assert int(layer.n_batches) == 4


def test_asking_moves_nothing_and_depends_on_no_neighbour() -> None:
    layer = settled(0.1, 2.0).eval()
    given = batch()
    whole = layer(given)
    torch.testing.assert_close(torch.cat([layer(one[None]) for one in given]), whole)
    assert layer.mean.item() == pytest.approx(0.1)


def test_every_normalising_layer_is_replaced() -> None:
    plain, net = ResNet18((32, 32)), renormalised(ResNet18((32, 32)))
    n_before = sum(isinstance(layer, nn.BatchNorm2d) for layer in plain.modules())
    assert sum(isinstance(layer, BatchRenorm) for layer in net.modules()) == n_before == 20
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in net.modules())
    assert list(dict(plain.named_parameters())) == list(dict(net.named_parameters()))
