import numpy as np
import pytest
import torch

from everlearn.networks.generator import Generator, generation_loss


def test_the_loss_is_as_worked_out_by_hand() -> None:
    """Two patterns of two values: squared errors 1, 4, 0 and 0; one code; two classes."""
    patterns, made = torch.tensor([[1.0, 2.0], [3.0, 3.0]]), torch.tensor([[0.0, 4.0], [3.0, 3.0]])
    mean, log_variance = torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [np.log(4.0)]]).float()
    outputs, classes = torch.tensor([[0.0, 0.0], [0.0, np.log(3.0)]]).float(), torch.tensor([0, 1])
    divergence = (0.5 * 1.0 + 0.5 * (4.0 - 1.0 - np.log(4.0))) / 2
    entropy = (np.log(2.0) - np.log(0.75)) / 2
    loss = generation_loss(patterns, made, (mean, log_variance), outputs, classes, beta=0.1, eta=0.01)
    assert loss.item() == pytest.approx(5 / 4 + 0.1 * divergence + 0.01 * entropy, rel=1e-6)


def test_the_divergence_is_torch_s() -> None:
    normal, kl = torch.distributions.Normal, torch.distributions.kl_divergence
    mean, log_variance = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(0)).unbind()
    theirs = kl(normal(mean, (0.5 * log_variance).exp()), normal(0.0, 1.0)).mean()
    nothing, zeros = torch.zeros(5, 1), torch.zeros(5, dtype=torch.long)
    ours = generation_loss(nothing, nothing, (mean, log_variance), torch.zeros(5, 1), zeros, beta=1, eta=0)
    torch.testing.assert_close(ours, theirs)


def test_dreams_are_not_below_zero_but_what_is_learned_from_is() -> None:
    generator = Generator(n_features=4, shape=(3, 2, 2), seed=1)
    codes = torch.randn(50, 100, generator=torch.Generator().manual_seed(0))
    classes = torch.zeros(50, dtype=torch.long)
    assert generator.decode(codes, classes).min() < 0
    assert generator.dream(codes, classes).min() == 0
    torch.testing.assert_close(generator.dream(codes, classes), generator.decode(codes, classes).relu())


def test_room_for_classes_grows_and_old_ones_stay() -> None:
    generator = Generator(n_features=4, shape=(2,))
    torch.nn.init.ones_(generator.classes)
    assert not generator.admit(16)
    assert generator.admit(17)
    assert generator.classes.shape[0] == 32
    assert generator.classes[:16].eq(1).all()
    rest = generator.classes[16:]
    assert torch.cdist(rest, rest).add(100 * torch.eye(16)).min() > 10, "no two classes begin alike"


def test_the_seed_decides_the_weights() -> None:
    first, same, other = (Generator(n_features=4, shape=(2,), seed=seed).code.weight for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
