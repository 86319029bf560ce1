import numpy as np
import pytest
import torch

from everlearn.networks import to_tensor
from everlearn.networks.alignment import (
    CENTER,
    align,
    align_candidates,
    foreground_box,
    normal_equations,
    solve,
    supersample_offset,
)
from everlearn.networks.pose import (
    compose,
    inverse,
    poses_from_factors,
    similarity,
    to_canonical,
    to_images,
)
from everlearn.rng import rng_at
from everlearn.streams import Task, sprites


@pytest.fixture(scope="module", params=[False, True], ids=["gray", "colour"])
def task(request: pytest.FixtureRequest) -> Task:
    return sprites(image_size=48, classes_per_task=4, rgb=request.param).task(0)


def channels(images: np.ndarray) -> np.ndarray:
    return images.reshape(*images.shape[:3], -1)


def exemplar_rows(task: Task) -> np.ndarray:
    return np.searchsorted(task.exemplars.labels, task.test.labels)


def per_candidate(transforms: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.repeat(transforms[:, None], rows.shape[1], axis=1)


def perturbed(poses: torch.Tensor, size: float) -> torch.Tensor:
    n = rng_at(0, "test", 1).normal(4 * len(poses))
    log_scale, angle, x, y = torch.from_numpy(n).float().reshape(4, -1) * size
    return compose(poses, similarity(torch.exp(log_scale), angle, x / 3, y / 3))


def test_residual_equals_sampling_with_torch(task: Task) -> None:
    transforms = inverse(perturbed(poses_from_factors(task.test.factors), 0.05))  # type: ignore[arg-type]
    rows = exemplar_rows(task)
    warped = to_images(to_canonical(to_tensor(task.exemplars.images[rows]), transforms))
    expected = np.square(channels(warped).astype(float) - channels(task.test.images)).sum((1, 2, 3))
    for i in range(len(rows)):
        H, W = task.test.images.shape[1:3]
        residual = normal_equations(
            channels(task.test.images)[i], channels(task.exemplars.images)[rows[i]], (0, H, 0, W),
            transforms[i].double().numpy(), 1, CENTER, np.empty((4, 4)), np.empty(4),
        )  # fmt: skip
        assert residual == pytest.approx(expected[i], rel=1e-3, abs=5)


CORNERS = tuple((x, y) for x in (-0.4, 0.4) for y in (-0.4, 0.4))


@pytest.mark.parametrize("points", [CENTER, CORNERS], ids=["center", "corners"])
def test_normal_equations_equal_autograd(task: Task, points: tuple[tuple[float, float], ...]) -> None:
    transform = inverse(perturbed(poses_from_factors(task.test.factors), 0.05))[0].double()  # type: ignore[arg-type]
    exemplar, image = channels(task.exemplars.images)[0], channels(task.test.images)[0]

    def errors(transform: torch.Tensor) -> torch.Tensor:
        given = torch.from_numpy(exemplar.astype(float)).permute(2, 0, 1)[None]
        by = torch.tensor([[1, 0, x / image.shape[1], y / image.shape[0]] for x, y in points]).double()
        seen = to_canonical(given.repeat(len(by), 1, 1, 1), compose(transform.repeat(len(by), 1), by)).mean(0)
        return (seen.permute(1, 2, 0) - torch.from_numpy(image.astype(float))).flatten()

    jacobian, error = torch.autograd.functional.jacobian(errors, transform), errors(transform)
    normal, right = np.empty((4, 4)), np.empty(4)
    H, W = image.shape[:2]
    normal_equations(image, exemplar, (0, H, 0, W), transform.numpy(), 1, points, normal, right)
    np.testing.assert_allclose(np.triu(normal), np.triu((jacobian.T @ jacobian).numpy()), rtol=1e-6)
    np.testing.assert_allclose(right, -(jacobian.T @ error).numpy(), rtol=1e-6)


def test_solve() -> None:
    root = rng_at(0, "test", 2).normal(16).reshape(4, 4)
    normal, right, step = root @ root.T + np.eye(4), np.arange(4.0), np.empty(4)
    damped = normal + np.diag(0.001 * np.diag(normal))
    assert solve(np.triu(normal), right, step)
    np.testing.assert_allclose(step, np.linalg.solve(damped, right), rtol=1e-6)
    assert not solve(np.full((4, 4), np.nan), right, step)


def test_alignment_finds_the_true_pose(task: Task) -> None:
    true = poses_from_factors(task.test.factors)  # type: ignore[arg-type]
    rows = exemplar_rows(task)[:, None]
    residuals, transforms = np.empty((len(rows), 1)), np.empty((len(rows), 4))
    start = inverse(perturbed(true, 0.03)).double().numpy()
    align_candidates(
        channels(task.test.images),
        channels(task.exemplars.images),
        rows,
        per_candidate(start, rows),
        residuals,
        transforms,
    )
    errors = (inverse(torch.from_numpy(transforms)).float() - true).abs()
    assert float(errors.median()) < 0.002
    assert float(errors.quantile(0.95)) < 0.02


def test_true_exemplar_has_the_smallest_residual(task: Task) -> None:
    true = poses_from_factors(task.test.factors)  # type: ignore[arg-type]
    n = len(task.test)
    rows = np.tile(np.arange(4), (n, 1))
    residuals, transforms = np.empty((n, 4)), np.empty((n, 4))
    start = inverse(perturbed(true, 0.03)).double().numpy()
    align_candidates(
        channels(task.test.images),
        channels(task.exemplars.images),
        rows,
        per_candidate(start, rows),
        residuals,
        transforms,
    )
    assert (residuals.argmin(1) == exemplar_rows(task)).mean() > 0.97


@pytest.mark.parametrize("scale", [0.5, 0.6, 0.7, 0.8])
def test_supersampling_explains_small_objects_better(scale: float) -> None:
    task = sprites(image_size=48, classes_per_task=8, factor_values=2, scale=(scale,)).task(0)
    transforms = inverse(poses_from_factors(task.test.factors)).double().numpy()  # type: ignore[arg-type]
    images, exemplars = channels(task.test.images), channels(task.exemplars.images)[exemplar_rows(task)]
    r = supersample_offset(transforms[0])
    corners = ((-r, -r), (-r, r), (r, -r), (r, r))

    def residual(points: tuple[tuple[float, float], ...]) -> float:
        boxed, buffers = (0, 48, 0, 48), (np.empty((4, 4)), np.empty(4))
        pairs = zip(images, exemplars, transforms, strict=True)
        return sum(normal_equations(p, e, boxed, transform, 1, points, *buffers) for p, e, transform in pairs)

    assert residual(corners) < residual(CENTER)


def test_supersample_offset() -> None:
    assert supersample_offset(np.array([1.0, 0, 0, 0])) == supersample_offset(np.array([0.0, 0.8, 0, 0])) == 0
    assert supersample_offset(np.array([0.0, 2.0, 0, 0])) == pytest.approx(0.45)


def test_alignment_never_increases_the_residual(task: Task) -> None:
    image, exemplar = channels(task.test.images)[0], channels(task.exemplars.images)[1]
    for seed in range(20):
        transform = np.array([1.0, 0, 0, 0]) + 0.5 * rng_at(seed, "test", 3).normal(4)
        H, W = image.shape[:2]
        before = normal_equations(
            image, exemplar, (0, H, 0, W), transform, 1, CENTER, np.empty((4, 4)), np.empty(4)
        )
        after = align(image, exemplar, (0, H, 0, W), transform, 3, 1, CENTER)
        assert after <= before
        again = normal_equations(
            image, exemplar, (0, H, 0, W), transform, 1, CENTER, np.empty((4, 4)), np.empty(4)
        )
        assert again == pytest.approx(after)


def test_foreground_box() -> None:
    image = np.full((20, 30, 1), 50, np.uint8)
    assert foreground_box(image) == (0, 20, 0, 30)
    image[10, 15] = 90
    assert foreground_box(image) == (7, 14, 12, 19)
    image[0, 29] = 90
    assert foreground_box(image) == (0, 14, 12, 30)


def test_blank_images_give_finite_results() -> None:
    blank = np.full((1, 16, 16, 1), 50, np.uint8)
    residuals, transforms = np.empty((1, 1)), np.empty((1, 4))
    align_candidates(
        blank, blank, np.zeros((1, 1), np.int64), np.array([[[1.0, 0, 0, 0]]]), residuals, transforms
    )
    assert residuals[0, 0] == 0
    assert np.isfinite(transforms).all()


@pytest.mark.parametrize("transform", [[np.nan] * 4, [np.inf, 0, 0, 0], [1e300, -1e300, 0, 0], [0, 0, 0, 0]])
def test_invalid_poses_give_finite_residuals(transform: list[float]) -> None:
    images = np.arange(2 * 16 * 16, dtype=np.uint8).reshape(2, 16, 16, 1)
    residuals, transforms = np.empty((2, 1)), np.empty((2, 4))
    align_candidates(
        images, images, np.zeros((2, 1), np.int64), np.tile(transform, (2, 1, 1)), residuals, transforms
    )
    assert np.isfinite(residuals).all()
