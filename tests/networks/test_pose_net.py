import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks.pose_net import Average, PoseNet, look
from everlearn.networks.practice import anywhere
from everlearn.networks.similarity import CANONICAL, matrices_of
from everlearn.rng import rng_at


@pytest.mark.parametrize("numbers", ["similarity", "matrix"])
@pytest.mark.parametrize("backbone", ["small", "resnet18"])
def test_a_fresh_net_sees_nearly_the_canonical_pose(numbers: str, backbone: str) -> None:
    net = PoseNet((32, 32), numbers=numbers, backbone=backbone).eval()
    poses = net(torch.rand(3, 1, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert poses.shape == (3, 4)
    assert float((poses - torch.tensor(CANONICAL)).detach().abs().max()) < 0.5


def test_errors_are_about_the_numbers_that_are_learned() -> None:
    images, poses = torch.zeros(2, 1, 32, 32), torch.tensor([[0.5, 0.1, 0.2, 0.3], [1.0, 0.0, 0.0, 0.0]])
    similar, matrix = PoseNet((32, 32)).eval(), PoseNet((32, 32), numbers="matrix").eval()
    torch.testing.assert_close(similar.errors(images, poses), similar(images) - poses)
    errors = matrix.errors(images, poses)
    assert errors.shape == (2, 6)
    torch.testing.assert_close(
        errors[0] - errors[1], (matrices_of(poses)[1] - matrices_of(poses)[0]).flatten()
    )


@pytest.mark.parametrize("numbers", ["similarity", "matrix"])
def test_it_learns_to_see(numbers: str) -> None:
    net = PoseNet((32, 32), width=8, numbers=numbers)
    corner = torch.zeros(64, 1, 32, 32)
    corner[:, :, 12:20, 8:28] = corner[:, :, 8:28, 8:14] = 1
    optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
    losses = []
    for step in range(100):
        loss = net.errors(*anywhere(corner, rng_at(0, "test", step))).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert sum(losses[-10:]) < 0.3 * sum(losses[:10])


def test_bad_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="similarity"):
        PoseNet((32, 32), numbers="similar")
    with pytest.raises(BadInput, match="resnet18"):
        PoseNet((32, 32), backbone="resnet")


def test_the_average_follows_the_net() -> None:
    net = PoseNet((16, 16), width=4)
    average = Average(net, memory=0.5)
    with torch.no_grad():
        net.head.bias.add_(1.0)
    average.follow(net, n_steps=1000)
    torch.testing.assert_close(average.net.head.bias, net.head.bias - 0.5)


def test_looking_again_corrects_by_what_is_seen_then() -> None:
    class Half(torch.nn.Module):
        """Sees half of the shift that is there, in a image that is one bright point."""

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            n, _, _, W = images.shape
            x = (2 * images.flatten(1).argmax(1) % (2 * W) + 1) / W - 1
            zero = torch.zeros(n)
            return torch.stack([zero + 1, zero, 0.5 * x, zero], 1)

    image = torch.zeros(1, 1, 33, 33)
    image[0, 0, 16, 24] = 1
    once, thrice = look(Half(), image, 1), look(Half(), image, 3)
    truth = (2 * 24 + 1) / 33 - 1
    assert abs(float(thrice[0, 2]) - truth) < abs(float(once[0, 2]) - truth) / 2
