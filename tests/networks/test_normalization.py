import pytest
import torch
from torch import nn

from everlearn.networks.backbones import PooledNet, make_backbone
from everlearn.networks.normalization import (
    MAX_D,
    MAX_R,
    BatchNorm1d,
    BatchNorm2d,
    BatchRenorm,
    FusedBatchRenorm,
    Norm,
    keep_statistics,
    set_renorm_momentum,
    with_norm,
    with_renorm,
)
from everlearn.networks.resnet import ResNet18


def settled(mean: float, deviation: float) -> BatchRenorm:
    """A layer whose running statistics hardly change any more."""
    layer = BatchRenorm(1, momentum=1e-4)
    layer.running_mean.fill_(mean)
    layer.running_std.fill_(deviation)
    layer.n_batches.fill_(10**6)
    return layer


def batch(n: int = 64) -> torch.Tensor:
    return torch.randn(n, 1, 3, 3, generator=torch.Generator().manual_seed(0))


def test_renorm_within_limits_is_the_same_in_training_and_evaluation() -> None:
    layer, x = settled(0.3, 1.1), batch()
    torch.testing.assert_close(layer(x), layer.eval()(x), atol=1e-3, rtol=0)
    torch.testing.assert_close(layer(x), (x - 0.3) / 1.1, atol=1e-3, rtol=0)


def test_renorm_beyond_limits_is_clipped_batch_norm() -> None:
    layer, x = settled(-50.0, 0.01), batch()
    plain = (x - x.mean()) / x.var(correction=0).add(1e-5).sqrt()
    torch.testing.assert_close(layer(x), plain * MAX_R + MAX_D, atol=1e-4, rtol=1e-4)


def test_renorm_of_the_first_batch_is_batch_norm() -> None:
    x = batch()
    torch.testing.assert_close(BatchRenorm(1)(x), nn.BatchNorm2d(1)(x), atol=1e-5, rtol=1e-5)


def test_renorm_gradients_treat_the_correction_as_constant() -> None:
    layer, x = settled(0.2, 1.05), batch(8).requires_grad_()
    weights = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    (ours,) = torch.autograd.grad((layer(x) * weights).sum(), x)
    mean, deviation = x.mean(), x.var(correction=0).add(1e-5).sqrt()
    r, d = (deviation / 1.05).detach(), ((mean - 0.2) / 1.05).detach()
    (expected,) = torch.autograd.grad((((x - mean) / deviation * r + d) * weights).sum(), x)
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-3)


def test_renorm_momentum() -> None:
    layer = BatchRenorm(1, momentum=0.25)
    for value in (0.0, 2.0, 4.0):
        layer(torch.full((2, 1), value) + torch.tensor([[-1.0], [1.0]]))
    assert layer.running_mean.item() == pytest.approx(2.0)
    set_renorm_momentum(nn.Sequential(layer), 0.5)
    layer(torch.full((2, 1), 10.0) + torch.tensor([[-1.0], [1.0]]))
    assert layer.running_mean.item() == pytest.approx(6.0)
    assert int(layer.n_batches) == 4


def test_renorm_evaluation_is_stateless_and_per_sample() -> None:
    layer = settled(0.1, 2.0).eval()
    x = batch()
    whole = layer(x)
    torch.testing.assert_close(torch.cat([layer(one[None]) for one in x]), whole)
    assert layer.running_mean.item() == pytest.approx(0.1)


def test_statistics_of_a_trained_network_are_kept() -> None:
    net, images = PooledNet((16, 16)), torch.rand(32, 1, 16, 16)
    net(images)
    before = net.eval()(images)
    torch.testing.assert_close(keep_statistics(net).eval()(images), before, atol=1e-5, rtol=1e-4)
    layer = next(each for each in net.modules() if isinstance(each, FusedBatchRenorm))
    mean = layer.running_mean.clone()
    set_renorm_momentum(net, 1e-4)
    net.train()(3 * images)
    torch.testing.assert_close(layer.running_mean, mean, atol=0, rtol=0.01)
    assert not torch.equal(layer.running_mean, mean)
    assert keep_statistics(net) is net


def test_with_renorm_replaces_all_batch_norms() -> None:
    plain, net = ResNet18((32, 32)), with_renorm(ResNet18((32, 32)))
    n_before = sum(isinstance(layer, nn.BatchNorm2d) for layer in plain.modules())
    assert sum(isinstance(layer, BatchRenorm) for layer in net.modules()) == n_before == 20
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in net.modules())
    assert list(dict(plain.named_parameters())) == list(dict(net.named_parameters()))


CASES = [(BatchNorm1d, nn.BatchNorm1d, ()), (BatchNorm2d, nn.BatchNorm2d, (4, 4))]


@pytest.mark.parametrize(("ours", "theirs", "map_shape"), CASES)
def test_batch_norm_of_a_batch_is_that_of_torch(
    ours: type[nn.Module], theirs: type[nn.Module], map_shape: tuple[int, ...]
) -> None:
    x = torch.rand(5, 3, *map_shape)
    one, other = ours(3), theirs(3)
    assert torch.equal(one(x), other(x))
    assert all(torch.equal(a, b) for a, b in zip(one.buffers(), other.buffers(), strict=True))


@pytest.mark.parametrize(("ours", "theirs", "map_shape"), CASES)
def test_batch_norm_of_a_single_value_uses_and_keeps_running_statistics(
    ours: type[nn.Module], theirs: type[nn.Module], map_shape: tuple[int, ...]
) -> None:
    one = ours(3)
    one(torch.rand(5, 3, *map_shape))
    running = [each.clone() for each in one.buffers()]
    alone = torch.rand(1, 3, *(1 for _ in map_shape))
    output = one(alone)
    assert torch.equal(output, one.eval()(alone))
    assert output.requires_grad
    assert all(torch.equal(a, b) for a, b in zip(one.buffers(), running, strict=True))


@pytest.mark.parametrize("shape", [(6, 3, 4, 4), (6, 3)])
def test_fused_renorm_equals_renorm(shape: tuple[int, ...]) -> None:
    plain, fused = BatchRenorm(3), FusedBatchRenorm(3)
    for step in range(3):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(step)) * (1 + step) + step
        inputs = [x.clone().requires_grad_() for _ in range(2)]
        outputs = [layer(each) for layer, each in zip((plain, fused), inputs, strict=True)]
        torch.testing.assert_close(*outputs)
        weights = torch.randn(shape, generator=torch.Generator().manual_seed(9))
        gradients = [
            torch.autograd.grad((output * weights).sum(), (each, layer.weight, layer.bias))
            for output, each, layer in zip(outputs, inputs, (plain, fused), strict=True)
        ]
        torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(dict(fused.state_dict()), dict(plain.state_dict()))
    torch.testing.assert_close(fused.eval()(x), plain.eval()(x))


def test_fused_renorm_of_a_single_value_uses_and_keeps_running_statistics() -> None:
    layer = FusedBatchRenorm(2)
    layer(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    before = dict(layer.state_dict())
    torch.testing.assert_close(layer(torch.tensor([[2.0, 4.0]])), torch.zeros(1, 2))
    torch.testing.assert_close(dict(layer.state_dict()), before)


KINDS = {"batch": nn.BatchNorm2d, "renorm": FusedBatchRenorm, "group": nn.GroupNorm}


@pytest.mark.parametrize("norm", ["batch", "renorm", "group"])
@pytest.mark.parametrize("name", ["compact", "pooled", "pooled-renorm"])
def test_norm_of_a_backbone_is_replaced(name: str, norm: Norm) -> None:
    net = make_backbone(name, (16, 16), 0, norm)
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, BatchRenorm, nn.GroupNorm)
    found = [type(each) for each in net.modules() if isinstance(each, norms)]
    assert len(found) == 7
    assert all(issubclass(each, KINDS[norm]) for each in found)
    assert net(torch.zeros(3, 1, 16, 16)).shape == (3, net.n_features)


def test_replaced_norms_do_not_change_other_weights() -> None:
    own, other = PooledNet((16, 16)), PooledNet((16, 16))
    other.load_state_dict(own.state_dict())
    with_norm(other, "group")
    assert torch.equal(own.convolutions[2][0].weight, other.convolutions[2][0].weight)
