import numpy as np
import pytest
import torch

from everlearn.networks.cvae import ConditionalVAE, cvae_loss


def test_loss_by_hand() -> None:
    """Two activations of two values: squared errors 1, 4, 0 and 0; one latent."""
    activations, made = torch.tensor([[1.0, 2.0], [3.0, 3.0]]), torch.tensor([[0.0, 4.0], [3.0, 3.0]])
    mean, log_variance = torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [np.log(4.0)]]).float()
    divergence = (0.5 * 1.0 + 0.5 * (4.0 - 1.0 - np.log(4.0))) / 2
    loss = cvae_loss(activations, made, (mean, log_variance), beta=0.1)
    assert loss.item() == pytest.approx(5 / 4 + 0.1 * divergence, rel=1e-6)


def test_samples_are_nonnegative_and_reconstructions_are_not() -> None:
    generator = ConditionalVAE(n_features=4, shape=(3, 2, 2), seed=1)
    latents = torch.randn(50, 100, generator=torch.Generator().manual_seed(0))
    classes = torch.zeros(50, dtype=torch.long)
    assert generator.decode(latents, classes).min() < 0
    assert generator.sample(latents, classes).min() == 0
    torch.testing.assert_close(generator.sample(latents, classes), generator.decode(latents, classes).relu())


def test_class_embeddings_grow_and_keep_old_ones() -> None:
    generator = ConditionalVAE(n_features=4, shape=(2,))
    torch.nn.init.ones_(generator.class_embeddings)
    assert not generator.add_classes(16)
    assert generator.add_classes(17)
    assert generator.class_embeddings.shape[0] == 32
    assert generator.class_embeddings[:16].eq(1).all()
    rest = generator.class_embeddings[16:]
    assert torch.cdist(rest, rest).add(100 * torch.eye(16)).min() > 10, "embeddings of new classes differ"


def test_seed_determines_the_weights() -> None:
    first, same, other = (
        ConditionalVAE(n_features=4, shape=(2,), seed=seed).latent_layer.weight for seed in (0, 0, 1)
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_activations_have_both_signs_unless_they_are_rectified() -> None:
    latents, targets = torch.randn(20, 4, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 3
    for rectified in (True, False):
        net = ConditionalVAE(3, (2, 5), n_latents=4, rectified=rectified)
        assert (net.sample(latents, targets).min() >= 0) == rectified


def test_class_scale_is_the_size_of_new_embeddings() -> None:
    large, small = (ConditionalVAE(3, (2,), class_scale=scale) for scale in (1.0, 0.05))
    torch.testing.assert_close(small.class_embeddings, 0.05 * large.class_embeddings)
