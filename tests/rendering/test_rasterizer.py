"""Comparison with a slow reference implementation."""

import numpy as np
import pytest
from benchmarks.reference import image

from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.rng import rng_at
from everlearn.shapes import ShapeFamily

LEVELS = (169.0, 255.0, 0.0)


def random_factors(n: int, scale: tuple[float, float], position: tuple[float, float], seed: int) -> Factors:
    rng = rng_at(seed, "exactness")
    return Factors(
        scale=rng.uniform(n, *scale),
        angle=rng.uniform(n, -10, 10),
        x=rng.uniform(n, *position),
        y=rng.uniform(n, *position),
    )


def errors(size: int, factors: Factors, family: ShapeFamily) -> tuple[np.ndarray, np.ndarray]:
    """Absolute errors of all pixels, and which of them are on a boundary."""
    outlines = family.outlines(np.arange(len(factors)))
    drawn = render(outlines, factors, size)
    expected = np.stack([image(outlines[i], factors[i], size, LEVELS) for i in range(len(factors))])
    return np.abs(drawn - expected), ~np.isin(expected, LEVELS)


@pytest.mark.parametrize(("size", "n"), [(16, 12), (50, 8), (64, 12), (100, 4)])
def test_images_agree_with_the_reference(size: int, n: int) -> None:
    error, boundary = errors(size, random_factors(n, (0.5, 1), (0, 1), seed=size), ShapeFamily(seed=1))
    assert error.mean() < 0.1
    assert error[boundary].mean() < 1
    assert error.max() < 12


@pytest.mark.parametrize("size", [16, 33, 64])
def test_clipped_shapes_agree_with_the_reference(size: int) -> None:
    error, boundary = errors(size, random_factors(12, (0.3, 6), (-1.2, 2.2), seed=size), ShapeFamily(seed=2))
    assert boundary.any()
    assert error[boundary].mean() < 1
    assert error.max() < 16


@pytest.mark.parametrize("options", [{"vertices": (3, 4)}, {"vertices": (20, 32)}, {"radial_noise": 0.9}])
def test_unusual_families_agree_with_the_reference(options: dict[str, object]) -> None:
    family = ShapeFamily(seed=3, **options)  # type: ignore[arg-type]
    error, boundary = errors(64, random_factors(6, (0.5, 1), (0, 1), seed=9), family)
    assert error[boundary].mean() < 1.2
    assert error.mean() < 0.1


def test_area_is_independent_of_the_pose() -> None:
    outline = ShapeFamily(seed=4).outline(1)
    factors = Factors(x=np.linspace(0.4, 0.6, 9), y=np.linspace(0.6, 0.45, 9), angle=np.linspace(0, 3, 9))
    drawn = render(outline, factors, 128, marker=False, background=0.0, dtype=np.float32)
    assert drawn.sum(axis=(1, 2)) == pytest.approx(float(outline.area[0]) * (0.45 * 128) ** 2, rel=2e-4)


def test_downscaled_images_agree_with_small_ones() -> None:
    outlines = ShapeFamily(seed=5).outlines(np.arange(10))
    factors = random_factors(10, (0.5, 1), (0, 1), seed=1)
    large = render(outlines, factors, 512, dtype=np.float32)
    small = render(outlines, factors, 64, dtype=np.float32)
    assert np.abs(large.reshape(10, 64, 8, 64, 8).mean(axis=(2, 4)) - small).max() < 8 / 255


def test_marker_is_the_right_half() -> None:
    for angle, (row, column) in {
        0.0: (32, 40),
        np.pi / 2: (40, 32),
        np.pi: (32, 24),
        -np.pi / 2: (24, 32),
    }.items():
        square = ShapeFamily(vertices=(4, 4), radial_noise=0, angular_noise=0, spline_orders=(1,)).outline(0)
        drawn = render(square, Factors(angle=angle), 64)[0]
        assert drawn[row, column] == 0
        assert drawn[63 - row, 63 - column] == 255


def test_matrices_map_to_the_canonical_pose() -> None:
    size = 256
    outlines = ShapeFamily(seed=6).outlines(np.arange(6))
    factors = random_factors(6, (0.5, 1), (0.2, 0.8), seed=2)
    drawn = render(outlines, factors, size).astype(float)
    canonical = render(outlines, Factors(), size).astype(float)
    for posed, target, matrix in zip(drawn, canonical, factors.matrices(), strict=True):
        assert np.abs(sample(posed, matrix) - target).mean() / 255 < 0.004


def sample(image: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """As torch's affine_grid and grid_sample, bilinear with border padding."""
    size = len(image)
    across = (np.arange(size) + 0.5) / size * 2 - 1
    grid = np.stack([*np.meshgrid(across, across), np.ones((size, size))])  # x, y, 1
    x, y = ((np.tensordot(matrix, grid, 1) + 1) / 2 * size - 0.5).clip(0, size - 1.001)
    i, j = y.astype(int), x.astype(int)
    v, u = y - i, x - j
    top = image[i, j] * (1 - u) + image[i, j + 1] * u
    bottom = image[i + 1, j] * (1 - u) + image[i + 1, j + 1] * u
    return top * (1 - v) + bottom * v
