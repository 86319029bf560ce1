import numpy as np
import pytest

from everlearn.networks.moments import poses_from_moments
from everlearn.networks.pose import factors_from_poses
from everlearn.streams import sprites


def errors(rgb: bool = False, **nuisances: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Median absolute errors of scale, angle, x and y."""
    batch = sprites(rgb=rgb, **nuisances).eval_sample(20, 200)
    assert batch.factors is not None
    differences = np.abs(factors_from_poses(poses_from_moments(batch.images)).array() - batch.factors.array())
    differences[:, 1] = np.minimum(differences[:, 1], 2 * np.pi - differences[:, 1])
    return np.asarray(np.median(differences, axis=0)[:4])


@pytest.mark.parametrize("rgb", [False, True])
def test_poses_of_sprites(rgb: bool) -> None:
    assert (errors(rgb) < [0.06, 0.06, 0.004, 0.004]).all()


def test_noise_counts_as_foreground() -> None:
    assert errors(noise=0.2)[0] > 0.5


def test_an_image_without_foreground_has_a_valid_pose() -> None:
    (pose,) = poses_from_moments(np.full((1, 16, 16), 9, np.uint8)).tolist()
    assert np.isfinite(pose).all()
    assert np.hypot(pose[0], pose[1]) > 0
