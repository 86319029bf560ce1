import numpy as np
import pytest
import torch

from everlearn.networks import to_tensor
from everlearn.networks.alignment import (
    CONTRAST,
    MIN_SCALE,
    STAGE_SCALES,
    Buffers,
    Grid,
    align,
    align_candidates,
    foreground_box,
    new_buffers,
    normal_equations,
    place,
    residual_scales,
    set_exemplar,
    solve,
    supersample_offset,
)
from everlearn.networks.pose import compose, inverse, poses_from_factors, similarity, to_canonical, to_images
from everlearn.rng import rng_at
from everlearn.streams import Task, sprites

CENTER, CORNERS = 0.0, 0.4
"""Offset of the samples of a pixel: one in its middle, or four."""


@pytest.fixture(scope="module", params=[False, True], ids=["gray", "color"])
def task(request: pytest.FixtureRequest) -> Task:
    return sprites(image_size=48, classes_per_task=4, rgb=request.param).task(0)


def channels(images: np.ndarray) -> np.ndarray:
    return images.reshape(*images.shape[:3], -1)


def exemplar_rows(task: Task) -> np.ndarray:
    return np.searchsorted(task.exemplars.labels, task.test.labels)


def true_poses(task: Task) -> torch.Tensor:
    return poses_from_factors(task.test.factors)  # type: ignore[arg-type]


def perturbed(poses: torch.Tensor, size: float) -> torch.Tensor:
    noise = rng_at(0, "test", 1).normal(4 * len(poses))
    log_scale, angle, x, y = torch.from_numpy(noise).float().reshape(4, -1) * size
    return compose(poses, similarity(torch.exp(log_scale), angle, x / 3, y / 3))


def placed(image: np.ndarray, exemplar: np.ndarray, r: float, stride: int = 1) -> tuple[Grid, Buffers]:
    """The whole image and the exemplar in buffers."""
    H, W, C = image.shape
    work = new_buffers(H, W, C)
    set_exemplar(exemplar, work)
    return place(image, (0, H, 0, W), stride, r, work), work


def residual(
    image: np.ndarray,
    exemplar: np.ndarray,
    transform: np.ndarray,
    r: float = CENTER,
    scale: float | None = None,
) -> float:
    grid, work = placed(image, exemplar, r)
    return normal_equations(grid, transform, np.inf, False, scale, work)


def aligned(task: Task, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and transforms of exemplars aligned from perturbed poses."""
    residuals, transforms = np.empty(rows.shape), np.empty((len(rows), 4))
    start = inverse(perturbed(true_poses(task), 0.03)).double().numpy()
    starts = np.repeat(start[:, None], rows.shape[1], axis=1)
    images, exemplars = channels(task.test.images), channels(task.exemplars.images)
    align_candidates(images, exemplars, rows, starts, residuals, transforms, None)
    return residuals, transforms


def test_residual_equals_sampling_with_torch(task: Task) -> None:
    transforms = inverse(perturbed(true_poses(task), 0.05))
    images, exemplars = channels(task.test.images), task.exemplars.images[exemplar_rows(task)]
    warped = to_images(to_canonical(to_tensor(exemplars), transforms))
    expected = np.square(channels(warped).astype(float) - images).sum((1, 2, 3))
    for i, transform in enumerate(transforms.double().numpy()):
        found = residual(images[i], channels(exemplars)[i], transform)
        assert found == pytest.approx(expected[i], rel=1e-3, abs=5)


@pytest.mark.parametrize("r", [CENTER, CORNERS], ids=["center", "corners"])
def test_normal_equations_equal_autograd(task: Task, r: float) -> None:
    transform = torch.tensor([0.93, 0.08, 0.05, -0.02]).double()
    H, W, C = 16, 12, channels(task.test.images).shape[3]
    image, exemplar = np.full((2, H, W, C), 50, np.uint8)
    for k, each in enumerate((image, exemplar)):
        each[4:12, 4:8] = rng_at(k, "test", 4).integers(8 * 4 * C, 256).reshape(8, 4, C)

    def errors(transform: torch.Tensor) -> torch.Tensor:
        pixels = torch.from_numpy(exemplar.astype(float)).permute(2, 0, 1)[None]
        corners = [(x, y) for x in (-r, r) for y in (-r, r)]
        offsets = torch.tensor([[1, 0, x / W, y / H] for x, y in corners]).double()
        n = len(offsets)
        warped = to_canonical(pixels.repeat(n, 1, 1, 1), compose(transform.repeat(n, 1), offsets)).mean(0)
        return (warped.permute(1, 2, 0) - torch.from_numpy(image.astype(float))).flatten()

    jacobian, error = torch.autograd.functional.jacobian(errors, transform), errors(transform)
    grid, work = placed(image, exemplar, r)
    found = normal_equations(grid, transform.numpy(), np.inf, True, None, work)
    (right, *normal), expected = work.normal, (jacobian.T @ jacobian).numpy()
    assert found == pytest.approx(float(error.square().sum()), rel=1e-5)
    np.testing.assert_allclose(np.triu(normal), np.triu(expected), rtol=1e-5, atol=1e-5 * expected.max())
    products = (jacobian.T @ error).numpy()
    np.testing.assert_allclose(right, -products, rtol=1e-5, atol=1e-5 * np.abs(products).max())


def test_solve() -> None:
    root = rng_at(0, "test", 2).normal(16).reshape(4, 4)
    normal, right, step = root @ root.T + np.eye(4), np.arange(4.0), np.empty(4)
    damped = normal + np.diag(0.001 * np.diag(normal))
    assert solve(np.triu(normal), right, step)
    np.testing.assert_allclose(step, np.linalg.solve(damped, right), rtol=1e-6)
    assert not solve(np.full((4, 4), np.nan), right, step)


def test_alignment_finds_the_true_pose(task: Task) -> None:
    _, transforms = aligned(task, exemplar_rows(task)[:, None])
    errors = (inverse(torch.from_numpy(transforms)).float() - true_poses(task)).abs()
    assert float(errors.median()) < 0.002
    assert float(errors.quantile(0.95)) < 0.02


def test_true_exemplar_has_the_smallest_residual(task: Task) -> None:
    residuals, _ = aligned(task, np.tile(np.arange(4), (len(task.test), 1)))
    assert (residuals.argmin(1) == exemplar_rows(task)).mean() > 0.97


@pytest.mark.parametrize("scale", [0.5, 0.6, 0.7, 0.8])
def test_supersampling_explains_small_objects_better(scale: float) -> None:
    task = sprites(image_size=48, classes_per_task=8, factor_values=2, scale=(scale,)).task(0)
    transforms = inverse(true_poses(task)).double().numpy()
    images, exemplars = channels(task.test.images), channels(task.exemplars.images)[exemplar_rows(task)]
    r = supersample_offset(transforms[0])

    def total(r: float) -> float:
        return sum(residual(*each, r) for each in zip(images, exemplars, transforms, strict=True))

    assert total(r) < total(CENTER)


def test_supersample_offset() -> None:
    assert supersample_offset(np.array([1.0, 0, 0, 0])) == supersample_offset(np.array([0.0, 0.8, 0, 0])) == 0
    assert supersample_offset(np.array([0.0, 2.0, 0, 0])) == pytest.approx(0.45)


def test_alignment_never_increases_the_residual(task: Task) -> None:
    image, exemplar = channels(task.test.images)[0], channels(task.exemplars.images)[1]
    for seed in range(20):
        transform = np.array([1.0, 0, 0, 0]) + 0.5 * rng_at(seed, "test", 3).normal(4)
        before = residual(image, exemplar, transform)
        grid, work = placed(image, exemplar, CENTER)
        after = align(exemplar, grid, transform, 3, None, work)
        assert after <= before
        assert residual(image, exemplar, transform) == pytest.approx(after)


def test_foreground_box() -> None:
    image = np.full((20, 30, 1), 50, np.uint8)
    assert foreground_box(image) == (0, 20, 0, 30)
    image[10, 15] = 90
    assert foreground_box(image) == (7, 14, 12, 19)
    image[0, 29] = 90
    assert foreground_box(image) == (0, 14, 12, 30)
    for level in (50 - CONTRAST, 50 + CONTRAST):  # not enough contrast, darker or brighter
        other = np.where(image == 50, 50, level).astype(np.uint8)
        assert foreground_box(other) == (0, *image.shape[:1], 0, *image.shape[1:2])


@pytest.mark.parametrize(
    "start", [[1.0, 0, 0, 0], [np.nan] * 4, [np.inf, 0, 0, 0], [1e300, -1e300, 0, 0], [0.0] * 4]
)
def test_residuals_are_finite_for_any_start_and_blank_images(start: list[float]) -> None:
    noise = np.arange(2 * 16 * 16, dtype=np.uint8).reshape(2, 16, 16, 1)
    for images in (noise, np.full_like(noise, 50)):
        residuals, transforms = np.empty((2, 1)), np.empty((2, 4))
        starts = np.tile(start, (2, 1, 1))
        align_candidates(images, images, np.zeros((2, 1), np.int64), starts, residuals, transforms, None)
        assert np.isfinite(residuals).all()
        if images is not noise:
            assert (residuals == 0).all()


def one_by_one(
    image: np.ndarray,
    exemplar: np.ndarray,
    transform: np.ndarray,
    r: float,
    stride: int,
    scale: float | None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """The residual and the normal equations, pixel after pixel in plain Python."""
    H, W, C = image.shape
    a, b, cx, cy = transform.tolist()
    corners = [(0.0, 0.0)] if r == 0 else [(x, y) for x in (-r, r) for y in (-r, r)]
    residual, right, normal = 0.0, np.zeros(4), np.zeros((4, 4))
    for i, j, c in np.ndindex(-(-H // stride), -(-W // stride), C):
        error, gradient = -float(image[i * stride, j * stride, c]), np.zeros(4)
        for dx, dy in corners:
            x, y = (2 * j * stride + 1 + dx) / W - 1, (2 * i * stride + 1 + dy) / H - 1
            u, v = (a * x - b * y + cx + 1) * (0.5 * W) - 0.5, (b * x + a * y + cy + 1) * (0.5 * H) - 0.5
            u, v = min(max(u, 0.0), W - 1.0), min(max(v, 0.0), H - 1.0)
            m, n = min(int(v), H - 2), min(int(u), W - 2)
            s, t = u - n, v - m
            (p, q), (e, o) = exemplar[m : m + 2, n : n + 2, c].astype(float).tolist()
            gx = ((q - p) * (1 - t) + (o - e) * t) * (0.5 * W)
            gy = ((e - p) * (1 - s) + (o - q) * s) * (0.5 * H)
            upper, lower = p + (q - p) * s, e + (o - e) * s
            error += (upper + (lower - upper) * t) / len(corners)
            gradient += np.array([gx * x + gy * y, gy * x - gx * y, gx, gy]) / len(corners)
        q = 1.0 if scale is None else scale**2 / (scale**2 + error**2)
        residual += error * error * q
        if gradient[2] != 0 or gradient[3] != 0:
            right -= gradient * error * q**2
            normal += np.outer(gradient, gradient) * q**2
    return residual * stride * stride, right, normal


@pytest.mark.parametrize("scale", [None, 30.0])
@pytest.mark.parametrize("n_channels", [1, 3])
@pytest.mark.parametrize(("r", "stride"), [(CENTER, 1), (CENTER, 2), (CORNERS, 1)])
def test_simd_instructions_agree_with_plain_arithmetic(
    n_channels: int, r: float, stride: int, scale: float | None
) -> None:
    """Sixteen pixels at a time in single precision; 13 columns are no multiple of 16."""
    image, exemplar = (
        rng_at(0, "test", 5).integers(2 * 11 * 13 * n_channels, 256).reshape(2, 11, 13, n_channels)
    )
    exemplar[3:8, 4:9] = 77  # without a gradient
    transform = np.array([1.07, 0.21, 0.1, -0.2])
    grid, work = placed(image.astype(np.uint8), exemplar.astype(np.uint8), r, stride)
    expected, right, normal = one_by_one(image, exemplar, transform, r, stride, scale)
    assert normal_equations(grid, transform, np.inf, True, scale, work) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(work.normal[0], right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
    upper = np.triu(normal)
    np.testing.assert_allclose(work.normal[1:], upper, rtol=1e-5, atol=1e-5 * np.abs(normal).max())
    assert normal_equations(grid, transform, np.inf, False, scale, work) == pytest.approx(expected, rel=1e-5)
    assert normal_equations(grid, transform, expected / 4, False, scale, work) >= expected / 4


def test_robust_residual_and_weights_by_hand() -> None:
    """One pixel differs by 30. With the scale 10, q = 100 / (100 + 900): it counts as 90 instead of 900."""
    exemplar = np.broadcast_to(np.arange(0, 80, 10, dtype=np.uint8)[:, None], (8, 8, 8)).transpose(2, 1, 0)
    exemplar = np.ascontiguousarray(exemplar[:, 0, :, None].repeat(8, 1))
    image, same = exemplar.copy(), np.array([1.0, 0, 0, 0])
    image[3, 5] += 30
    assert residual(image, exemplar, same) == pytest.approx(900)
    assert residual(image, exemplar, same, scale=10.0) == pytest.approx(90)
    (squared, grid), (robust, _) = (placed(image, exemplar, CENTER)[::-1] for _ in range(2))
    normal_equations(grid, same, np.inf, True, None, squared)
    normal_equations(grid, same, np.inf, True, 10.0, robust)
    np.testing.assert_allclose(robust.normal[0], 0.1**2 * squared.normal[0], rtol=1e-5)


def test_an_infinite_scale_squares_errors(task: Task) -> None:
    image, exemplar = channels(task.test.images)[0], channels(task.exemplars.images)[1]
    transform = inverse(true_poses(task))[0].double().numpy()
    assert residual(image, exemplar, transform, scale=1e9) == pytest.approx(
        residual(image, exemplar, transform)
    )


def test_scales_follow_the_noise_of_the_background_but_not_objects() -> None:
    image = np.full((3, 20, 20, 1), 100, np.uint8)
    image[1, :9] = 250
    image[2] += rng_at(0, "test", 6).integers(400, 81).reshape(20, 20, 1).astype(np.uint8)
    scales = residual_scales(image)
    np.testing.assert_allclose(scales[:2], MIN_SCALE * np.tile(STAGE_SCALES, (2, 1)))
    assert scales[2, -1] == pytest.approx(2 * 20, rel=0.1)  # the median distance in 0..80 is 20


def test_behind_an_occluder_the_squared_residual_is_wrong_and_the_robust_one_right() -> None:
    """A bar of another level covers two fifths of each object; all start from their true poses."""
    task = sprites(image_size=48, classes_per_task=40, factor_values=2).task(0)
    images, exemplars = channels(task.test.images).copy(), channels(task.exemplars.images)
    for image in images:
        top, bottom, left, right = foreground_box(image)
        image[top:bottom, left : left + (right - left) * 2 // 5] = 70
    n, start = len(images), inverse(true_poses(task)).double().numpy()
    rows, starts = np.tile(np.arange(40), (n, 1)), np.repeat(start[:, None], 40, axis=1)
    accuracy, errors = [], []
    for scales in (None, residual_scales(images)):
        residuals, transforms = np.empty((n, 40)), np.empty((n, 4))
        align_candidates(images, exemplars, rows, starts, residuals, transforms, scales)
        accuracy.append((residuals.argmin(1) == exemplar_rows(task)).mean())
        errors.append(np.median(np.abs(transforms - start).max(1)))
    assert accuracy[0] < 0.7
    assert accuracy[1] > 0.95
    assert errors[1] < 0.2 * errors[0]
