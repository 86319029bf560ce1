import numpy as np
import pytest
import torch

from everlearn.networks import to_tensor
from everlearn.networks.alignment import MIDDLE, accumulate, extent, fit, fit_all, reach, solve
from everlearn.networks.similarity import compose, inverse, poses_of, similarity
from everlearn.networks.warp import normalise, to_images
from everlearn.rng import rng_at
from everlearn.streams import Task, sprites


@pytest.fixture(scope="module", params=[False, True], ids=["gray", "colour"])
def task(request: pytest.FixtureRequest) -> Task:
    return sprites(image_size=48, classes_per_task=4, rgb=request.param).task(0)


def channels(images: np.ndarray) -> np.ndarray:
    return images.reshape(*images.shape[:3], -1)


def exemplar_rows(task: Task) -> np.ndarray:
    return np.searchsorted(task.exemplars.labels, task.test.labels)


def many(ways: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.repeat(ways[:, None], rows.shape[1], axis=1)


def off_by(poses: torch.Tensor, size: float) -> torch.Tensor:
    n = rng_at(0, "test", 1).normal(4 * len(poses))
    size_, turn, x, y = torch.from_numpy(n).float().reshape(4, -1) * size
    return compose(poses, similarity(torch.exp(size_), turn, x / 3, y / 3))


def test_the_misfit_is_that_of_sampling_with_torch(task: Task) -> None:
    ways = inverse(off_by(poses_of(task.test.factors), 0.05))  # type: ignore[arg-type]
    rows = exemplar_rows(task)
    laid_over = to_images(normalise(to_tensor(task.exemplars.images[rows]), ways))
    expected = np.square(channels(laid_over).astype(float) - channels(task.test.images)).sum((1, 2, 3))
    for i in range(len(rows)):
        H, W = task.test.images.shape[1:3]
        misfit = accumulate(
            channels(task.test.images)[i], channels(task.exemplars.images)[rows[i]], (0, H, 0, W),
            ways[i].double().numpy(), 1, MIDDLE, np.empty((4, 4)), np.empty(4),
        )  # fmt: skip
        assert misfit == pytest.approx(expected[i], rel=1e-3, abs=5)


CORNERS = tuple((x, y) for x in (-0.4, 0.4) for y in (-0.4, 0.4))


@pytest.mark.parametrize("points", [MIDDLE, CORNERS], ids=["middle", "corners"])
def test_the_normal_equations_are_those_of_autograd(
    task: Task, points: tuple[tuple[float, float], ...]
) -> None:
    way = inverse(off_by(poses_of(task.test.factors), 0.05))[0].double()  # type: ignore[arg-type]
    exemplar, image = channels(task.exemplars.images)[0], channels(task.test.images)[0]

    def errors(way: torch.Tensor) -> torch.Tensor:
        given = torch.from_numpy(exemplar.astype(float)).permute(2, 0, 1)[None]
        by = torch.tensor([[1, 0, x / image.shape[1], y / image.shape[0]] for x, y in points]).double()
        seen = normalise(given.repeat(len(by), 1, 1, 1), compose(way.repeat(len(by), 1), by)).mean(0)
        return (seen.permute(1, 2, 0) - torch.from_numpy(image.astype(float))).flatten()

    jacobian, error = torch.autograd.functional.jacobian(errors, way), errors(way)
    normal, right = np.empty((4, 4)), np.empty(4)
    H, W = image.shape[:2]
    accumulate(image, exemplar, (0, H, 0, W), way.numpy(), 1, points, normal, right)
    np.testing.assert_allclose(np.triu(normal), np.triu((jacobian.T @ jacobian).numpy()), rtol=1e-6)
    np.testing.assert_allclose(right, -(jacobian.T @ error).numpy(), rtol=1e-6)


def test_solving_four_equations() -> None:
    root = rng_at(0, "test", 2).normal(16).reshape(4, 4)
    normal, right, step = root @ root.T + np.eye(4), np.arange(4.0), np.empty(4)
    damped = normal + np.diag(0.001 * np.diag(normal))
    assert solve(np.triu(normal), right, step)
    np.testing.assert_allclose(step, np.linalg.solve(damped, right), rtol=1e-6)
    assert not solve(np.full((4, 4), np.nan), right, step)


def test_fitting_finds_the_true_pose(task: Task) -> None:
    true = poses_of(task.test.factors)  # type: ignore[arg-type]
    rows = exemplar_rows(task)[:, None]
    misfits, ways = np.empty((len(rows), 1)), np.empty((len(rows), 4))
    start = inverse(off_by(true, 0.03)).double().numpy()
    fit_all(
        channels(task.test.images), channels(task.exemplars.images), rows, many(start, rows), misfits, ways
    )
    errors = (inverse(torch.from_numpy(ways)).float() - true).abs()
    assert float(errors.median()) < 0.002
    assert float(errors.quantile(0.95)) < 0.02


def test_the_true_exemplar_fits_best(task: Task) -> None:
    true = poses_of(task.test.factors)  # type: ignore[arg-type]
    n = len(task.test)
    rows = np.tile(np.arange(4), (n, 1))
    misfits, ways = np.empty((n, 4)), np.empty((n, 4))
    start = inverse(off_by(true, 0.03)).double().numpy()
    fit_all(
        channels(task.test.images), channels(task.exemplars.images), rows, many(start, rows), misfits, ways
    )
    assert (misfits.argmin(1) == exemplar_rows(task)).mean() > 0.97


@pytest.mark.parametrize("scale", [0.5, 0.6, 0.7, 0.8])
def test_looking_at_corners_explains_small_things_better(scale: float) -> None:
    task = sprites(image_size=48, classes_per_task=8, factor_values=2, scale=(scale,)).task(0)
    ways = inverse(poses_of(task.test.factors)).double().numpy()  # type: ignore[arg-type]
    images, remembered = channels(task.test.images), channels(task.exemplars.images)[exemplar_rows(task)]
    r = reach(ways[0])
    corners = ((-r, -r), (-r, r), (r, -r), (r, r))

    def misfit(points: tuple[tuple[float, float], ...]) -> float:
        boxed, spare = (0, 48, 0, 48), (np.empty((4, 4)), np.empty(4))
        pairs = zip(images, remembered, ways, strict=True)
        return sum(accumulate(p, e, boxed, way, 1, points, *spare) for p, e, way in pairs)

    assert misfit(corners) < misfit(MIDDLE)


def test_a_thing_as_large_as_remembered_is_looked_at_in_the_middle() -> None:
    assert reach(np.array([1.0, 0, 0, 0])) == reach(np.array([0.0, 0.8, 0, 0])) == 0
    assert reach(np.array([0.0, 2.0, 0, 0])) == pytest.approx(0.45)


def test_a_fit_never_makes_it_worse(task: Task) -> None:
    image, exemplar = channels(task.test.images)[0], channels(task.exemplars.images)[1]
    for seed in range(20):
        way = np.array([1.0, 0, 0, 0]) + 0.5 * rng_at(seed, "test", 3).normal(4)
        H, W = image.shape[:2]
        before = accumulate(image, exemplar, (0, H, 0, W), way, 1, MIDDLE, np.empty((4, 4)), np.empty(4))
        after = fit(image, exemplar, (0, H, 0, W), way, 3, 1, MIDDLE)
        assert after <= before
        again = accumulate(image, exemplar, (0, H, 0, W), way, 1, MIDDLE, np.empty((4, 4)), np.empty(4))
        assert again == pytest.approx(after)


def test_the_box_holds_what_differs_from_the_border() -> None:
    image = np.full((20, 30, 1), 50, np.uint8)
    assert extent(image) == (0, 20, 0, 30)
    image[10, 15] = 90
    assert extent(image) == (7, 14, 12, 19)
    image[0, 29] = 90
    assert extent(image) == (0, 14, 12, 30)


def test_images_without_content_do_no_harm() -> None:
    blank = np.full((1, 16, 16, 1), 50, np.uint8)
    misfits, ways = np.empty((1, 1)), np.empty((1, 4))
    fit_all(blank, blank, np.zeros((1, 1), np.int64), np.array([[[1.0, 0, 0, 0]]]), misfits, ways)
    assert misfits[0, 0] == 0
    assert np.isfinite(ways).all()


@pytest.mark.parametrize("way", [[np.nan] * 4, [np.inf, 0, 0, 0], [1e300, -1e300, 0, 0], [0, 0, 0, 0]])
def test_impossible_poses_do_no_harm(way: list[float]) -> None:
    images = np.arange(2 * 16 * 16, dtype=np.uint8).reshape(2, 16, 16, 1)
    misfits, ways = np.empty((2, 1)), np.empty((2, 4))
    fit_all(images, images, np.zeros((2, 1), np.int64), np.tile(way, (2, 1, 1)), misfits, ways)
    assert np.isfinite(misfits).all()
