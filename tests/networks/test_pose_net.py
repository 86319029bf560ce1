import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks.pose import CANONICAL, augment_poses, matrices_from_poses
from everlearn.networks.pose_net import EMA, PoseNet, predict_poses
from everlearn.rng import rng_at


@pytest.mark.parametrize(("parameterization", "backbone"), [("similarity", "small"), ("matrix", "resnet18")])
def test_initial_predictions_are_near_canonical(parameterization: str, backbone: str) -> None:
    net = PoseNet((32, 32), parameterization=parameterization, backbone=backbone).eval()
    poses = net(torch.rand(3, 1, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert poses.shape == (3, 4)
    assert float((poses - torch.tensor(CANONICAL)).detach().abs().max()) < 0.5


def test_errors_follow_the_parameterization() -> None:
    images, poses = torch.zeros(2, 1, 32, 32), torch.tensor([[0.5, 0.1, 0.2, 0.3], [1.0, 0.0, 0.0, 0.0]])
    similarity, matrix = PoseNet((32, 32)).eval(), PoseNet((32, 32), parameterization="matrix").eval()
    torch.testing.assert_close(similarity.errors(images, poses), similarity(images) - poses)
    errors = matrix.errors(images, poses)
    assert errors.shape == (2, 6)
    targets = matrices_from_poses(poses).flatten(1)
    torch.testing.assert_close(errors[0] - errors[1], targets[1] - targets[0])


@pytest.mark.parametrize("parameterization", ["similarity", "matrix"])
def test_training_reduces_the_error(parameterization: str) -> None:
    net = PoseNet((32, 32), width=8, parameterization=parameterization)
    corner = torch.zeros(64, 1, 32, 32)
    corner[:, :, 12:20, 8:28] = corner[:, :, 8:28, 8:14] = 1
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses = []
    for step in range(60):
        loss = net.errors(*augment_poses(corner, rng_at(0, "test", step))).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert sum(losses[-10:]) < 0.3 * sum(losses[:10])


def test_bad_backbone_is_rejected() -> None:
    with pytest.raises(BadInput, match="resnet18"):
        PoseNet((32, 32), backbone="resnet")


def test_ema_update() -> None:
    net = PoseNet((16, 16), width=4)
    average = EMA(net, decay=0.5)
    with torch.no_grad():
        net.head.bias.add_(1.0)
    average.update(net, n_steps=1000)
    torch.testing.assert_close(average.net.head.bias, net.head.bias - 0.5)


def test_refinements_correct_the_first_prediction() -> None:
    class HalfShift(torch.nn.Module):
        """Predicts half of the true shift of one bright pixel."""

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            n, _, _, W = images.shape
            x = (2 * images.flatten(1).argmax(1) % (2 * W) + 1) / W - 1
            zero = torch.zeros(n)
            return torch.stack([zero + 1, zero, 0.5 * x, zero], 1)

    image = torch.zeros(1, 1, 33, 33)
    image[0, 0, 16, 24] = 1
    first, refined = predict_poses(HalfShift(), image), predict_poses(HalfShift(), image, n_refinements=2)
    truth = (2 * 24 + 1) / 33 - 1
    assert abs(float(refined[0, 2]) - truth) < abs(float(first[0, 2]) - truth) / 2
