import numpy as np
import pytest
import torch

from everlearn.networks import alignment, torch_alignment
from everlearn.networks.pose import compose, inverse, poses_from_factors, similarity
from everlearn.rng import rng_at
from everlearn.streams import Task, sprites


@pytest.fixture(scope="module", params=[False, True], ids=["gray", "color"])
def task(request: pytest.FixtureRequest) -> Task:
    return sprites(image_size=48, classes_per_task=4, factor_values=3, rgb=request.param).task(0)


def channels(images: np.ndarray) -> np.ndarray:
    return images.reshape(*images.shape[:3], -1)


def starts(task: Task, n: int) -> np.ndarray:
    """Transforms near the true ones, for four candidates of each image."""
    poses = poses_from_factors(task.train.factors)[:n]  # type: ignore[arg-type, index]
    noise = torch.from_numpy(rng_at(0, "test", 1).normal(4 * n)).float().reshape(4, -1) * 0.03
    moved = compose(poses, similarity(torch.exp(noise[0]), noise[1], noise[2] / 3, noise[3] / 3))
    return np.repeat(inverse(moved).double().numpy()[:, None], 4, axis=1)


def compared(
    images: np.ndarray,
    exemplars: np.ndarray,
    rows: np.ndarray,
    transforms: np.ndarray,
    scales: np.ndarray | None = None,
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Residuals and transforms of the compiled code and of torch."""
    residuals, best = np.empty(rows.shape), np.empty((len(rows), 4))
    alignment.align_candidates(images, exemplars, rows, transforms, residuals, best, scales)
    found = torch_alignment.align_candidates(
        *map(torch.from_numpy, (images, exemplars, rows, transforms)),
        None if scales is None else torch.from_numpy(scales),
    )
    return (residuals, best), (found[0].double().numpy(), found[1].double().numpy())


@pytest.mark.parametrize("is_robust", [False, True], ids=["squared", "robust"])
def test_torch_gives_what_compiled_code_gives(task: Task, is_robust: bool) -> None:
    n = 40
    rows = np.tile(np.arange(4), (n, 1))
    images, exemplars = channels(task.train.images[:n]), channels(task.exemplars.images)
    scales = alignment.residual_scales(images) if is_robust else None
    (expected, transforms), (residuals, found) = compared(images, exemplars, rows, starts(task, n), scales)
    np.testing.assert_array_equal(residuals.argmin(1), expected.argmin(1))
    np.testing.assert_allclose(residuals, expected, rtol=1e-3, atol=1.0)
    np.testing.assert_allclose(found, transforms, atol=1e-4)


@pytest.mark.parametrize(
    "start", [[1.0, 0, 0, 0], [np.nan] * 4, [np.inf, 0, 0, 0], [1e300, -1e300, 0, 0], [0.0] * 4]
)
def test_any_start_and_blank_images(start: list[float]) -> None:
    noise = np.arange(2 * 16 * 16, dtype=np.uint8).reshape(2, 16, 16, 1)
    for images in (noise, np.full_like(noise, 50)):
        first, second = compared(
            images, images, np.zeros((2, 1), np.int64), np.tile(np.array(start), (2, 1, 1))
        )
        assert np.isfinite(second[0]).all()
        np.testing.assert_allclose(second[0], first[0], rtol=1e-2, atol=1e-6)


def test_solve() -> None:
    root = torch.from_numpy(rng_at(0, "test", 2).normal(16).reshape(1, 4, 4))
    normal, right = root @ root.mT + torch.eye(4), torch.arange(4.0).double()[None]
    damped = normal[0] + torch.diag(0.001 * normal[0].diag())
    step, is_solved = torch_alignment.solve(normal, right)
    assert is_solved.all()
    np.testing.assert_allclose(step[0], torch.linalg.solve(damped, right[0]), rtol=1e-6)
    assert not torch_alignment.solve(torch.full((1, 4, 4), torch.nan), right.float())[1].any()
