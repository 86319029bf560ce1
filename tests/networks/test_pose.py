import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.factors import Factors
from everlearn.networks import to_tensor
from everlearn.networks.pose import (
    CANONICAL,
    compose,
    factors_from_poses,
    from_canonical,
    inverse,
    matrices_from_poses,
    poses_from_factors,
    poses_from_matrices,
    to_canonical,
    to_images,
    to_uint8,
)
from everlearn.streams import sprites

number = st.floats(-1, 1)
pose = st.tuples(st.floats(0.2, 3), st.floats(0, 6.28), number, number)
Pose = tuple[float, float, float, float]


def as_tensor(given: Pose) -> torch.Tensor:
    scale, angle, x, y = given
    return poses_from_factors(Factors(scale=scale, angle=angle, x=x, y=y))


def square(matrices: torch.Tensor) -> torch.Tensor:
    return torch.cat([matrices, torch.tensor([[[0.0, 0.0, 1.0]]]).expand(len(matrices), 1, 3)], 1)


@given(pose, pose)
@settings(max_examples=60, deadline=None)
def test_compose_equals_matrix_product(one: Pose, two: Pose) -> None:
    a, b = as_tensor(one), as_tensor(two)
    product = square(matrices_from_poses(a)) @ square(matrices_from_poses(b))
    torch.testing.assert_close(square(matrices_from_poses(compose(a, b))), product, atol=1e-5, rtol=1e-5)


@given(pose)
@settings(max_examples=60, deadline=None)
def test_conversions_and_inverse_round_trip(one: Pose) -> None:
    a = as_tensor(one)
    torch.testing.assert_close(compose(inverse(a), a), torch.tensor([CANONICAL]), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(poses_from_matrices(matrices_from_poses(a)), a)
    factors = factors_from_poses(a).array()[0]
    angle = (factors[1] - one[1] + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose([*factors[[0, 2, 3]], angle], [one[0], one[2], one[3], 0], atol=1e-4)


def test_matrices_equal_those_of_factors() -> None:
    factors = Factors(scale=[0.5, 2.0], angle=[1.0, 4.0], x=[0.1, 0.9], y=[0.2, 0.7])
    matrices = matrices_from_poses(poses_from_factors(factors)).numpy()
    np.testing.assert_allclose(matrices, factors.matrices(), atol=1e-6)


def test_true_poses_recover_exemplars() -> None:
    """The oracle test of the paper's code, at 256 px, with its limit of 0.004."""
    task = sprites(image_size=256, classes_per_task=2).task(0)
    batch = task.test[task.test.factors.scale > 0.6]  # type: ignore[union-attr]
    exemplars = dict(zip(task.exemplars.labels.tolist(), task.exemplars.images, strict=True))
    canonical = to_images(to_canonical(to_tensor(batch.images), poses_from_factors(batch.factors)))  # type: ignore[arg-type]
    for image, label in zip(canonical, batch.labels.tolist(), strict=True):
        assert np.abs(image - exemplars[label]).mean() / 255 < 0.004


def test_from_canonical_reproduces_the_stream() -> None:
    task = sprites(image_size=64, classes_per_task=1).task(0)
    poses = poses_from_factors(task.test.factors)  # type: ignore[arg-type]
    warped = from_canonical(to_tensor(task.exemplars.images).expand(len(poses), -1, -1, -1), poses)
    difference = np.abs(to_images(warped) - task.test.images.astype(float))
    background = np.abs(169 - task.test.images.astype(float))
    assert difference.mean() < 0.05 * background.mean()


def test_border_padding() -> None:
    images = to_tensor(np.full((1, 8, 8), 77, np.uint8))
    shrunk = to_canonical(images, torch.tensor([[5.0, 0.0, 3.0, 0.0]]))
    np.testing.assert_allclose(to_images(shrunk), 77, rtol=1e-5)


def test_to_uint8_inverts_to_tensor() -> None:
    for shape in ((2, 5, 6), (2, 5, 6, 3)):
        images = np.random.Generator(np.random.Philox(0)).integers(0, 256, shape).astype(np.uint8)
        assert (to_uint8(to_tensor(images)) == images).all()
