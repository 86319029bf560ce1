import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.factors import Factors
from everlearn.streams.images.compose import RawImages, compose

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (28, 28, 1), dtype=np.uint8)


def smooth(size, channels=1):
    """An image without sharp edges that is 0 at its border."""
    v, u = np.mgrid[0:size, 0:size] / size * 2 - 1 + 1 / size
    waves = [0.5 + 0.5 * np.cos(3 * u * (c + 1) + 2 * v) for c in range(channels)]
    fade = np.clip(1 - (u**2 + v**2), 0, 1)
    return np.stack([np.round(255 * wave * fade).astype(np.uint8) for wave in waves], axis=-1)


def composed(image, factors, image_size=64, drawn_size=28, **options):
    rows = np.zeros(len(factors), np.int64)
    return compose(
        RawImages.of([image]), rows, factors, image_size=image_size, drawn_size=drawn_size, **options
    )


def sampled_back(image, matrix):
    """As torch's affine_grid and grid_sample."""
    size = len(image)
    frame = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(frame, frame)
    positions = matrix @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
    column, row = ((positions + 1) / 2 * size - 0.5).reshape(2, size, size)
    padded = np.pad(image.astype(float), 1)
    column, row = (np.clip(v + 1, 0, size + 0.999) for v in (column, row))
    i, j = row.astype(int), column.astype(int)
    q, p = row - i, column - j
    upper = padded[i, j] * (1 - p) + padded[i, j + 1] * p
    return upper * (1 - q) + (padded[i + 1, j] * (1 - p) + padded[i + 1, j + 1] * p) * q


def supersampled(image, factors, image_size, drawn_size, n=12):
    """The bilinear surface of an image, averaged over n x n points in every canvas pixel."""
    height, width = image.shape[:2]
    points = (np.arange(image_size * n) + 0.5) / n
    x, y = np.meshgrid(points, points)
    x, y = x - (0.25 + 0.5 * factors.x[0]) * image_size, y - (0.25 + 0.5 * factors.y[0]) * image_size
    cos, sin = np.cos(factors.angle[0]), np.sin(factors.angle[0])
    ratio = max(height, width) / (drawn_size * factors.scale[0])
    u, v = ratio * (cos * x + sin * y) + (width - 1) / 2, ratio * (cos * y - sin * x) + (height - 1) / 2
    padded = np.pad(image[..., 0].astype(float), 2)
    u, v = np.clip(u + 2, 0, width + 2.999), np.clip(v + 2, 0, height + 2.999)
    i, j = v.astype(int), u.astype(int)
    q, p = v - i, u - j
    upper = padded[i, j] * (1 - p) + padded[i, j + 1] * p
    surface = upper * (1 - q) + (padded[i + 1, j] * (1 - p) + padded[i + 1, j + 1] * p) * q
    return surface.reshape(image_size, n, image_size, n).mean(axis=(1, 3))


def test_canonical_pose_is_an_exact_copy():
    np.testing.assert_array_equal(composed(NOISE, Factors(), 28)[0], NOISE[..., 0])
    canvas = composed(NOISE, Factors(), 64)[0]
    np.testing.assert_array_equal(canvas[18:46, 18:46], NOISE[..., 0])
    assert canvas.sum() == NOISE.sum()


@pytest.mark.parametrize("quarter", range(4))
def test_quarter_rotations_are_exact_and_clockwise(quarter):
    rotated = composed(NOISE, Factors(angle=quarter * np.pi / 2))[0, 18:46, 18:46]
    np.testing.assert_array_equal(rotated, np.rot90(NOISE[..., 0], -quarter))


def test_integer_positions_are_exact():
    canvas = composed(NOISE, Factors(x=[0, 0.5, 1], y=[1, 0.25, 0]))
    for image, (left, top) in zip(canvas, [(2, 34), (18, 10), (34, 2)], strict=True):
        np.testing.assert_array_equal(image[top : top + 28, left : left + 28], NOISE[..., 0])


def test_integer_reduction_is_an_exact_average():
    image = RNG.integers(0, 256, (84, 84, 1), dtype=np.uint8)
    blocks = image.reshape(28, 3, 28, 3).sum(axis=(1, 3)).astype(int)
    np.testing.assert_array_equal(composed(image, Factors())[0, 18:46, 18:46], (2 * blocks + 9) // 18)


def test_aspect_ratio_is_kept():
    white = np.full((10, 40, 1), 255, np.uint8)
    canvas = composed(white, Factors(), 64, 40)[0]
    np.testing.assert_array_equal(np.argwhere(canvas).min(axis=0), [27, 12])
    np.testing.assert_array_equal(np.argwhere(canvas).max(axis=0), [36, 51])


@pytest.mark.parametrize("size", [28, 64, 105])
@pytest.mark.parametrize(("scale", "angle"), [(1.0, 0.3), (0.6, 2.0), (1.4, 4.0), (0.5, 0.0)])
def test_agrees_with_supersampled_reference(size, scale, angle):
    factors = Factors(scale=scale, angle=angle, x=0.41, y=0.63)
    image = smooth(size)
    error = np.abs(composed(image, factors)[0] - supersampled(image, factors, 64, 28))
    assert error.mean() < 0.35
    assert error.max() < 6


@pytest.mark.parametrize("size", [105, 150])
def test_reduction_has_no_aliasing(size):
    noise = (255 * RNG.integers(0, 2, (size, size, 1))).astype(np.uint8)
    checks = (255 * (np.indices((size, size)).sum(axis=0) % 2)).astype(np.uint8)[..., None]
    for image in (
        composed(noise, Factors(scale=0.5, angle=0.2))[0],
        composed(checks, Factors(scale=0.5, angle=0.2))[0],
    ):
        inner = image[28:36, 28:36].astype(float)
        assert abs(inner.mean() - 127.5) < 8
        assert inner.std() < 25
    assert composed(checks, Factors(scale=0.5, angle=0.2))[0, 28:36, 28:36].std() < 6


@given(
    st.floats(0.7, 1.4),
    st.floats(-4, 4),
    st.floats(0.2, 0.8),
    st.floats(0.2, 0.8),
    st.sampled_from([28, 64, 105]),
)
@settings(max_examples=25, deadline=None)
def test_matrices_map_to_the_canonical_pose(scale, angle, x, y, size):
    factors, image = Factors(scale, angle, x, y), smooth(size)
    back = sampled_back(composed(image, factors)[0], factors.matrices()[0])
    assert np.abs(back - composed(image, Factors())[0]).mean() < 1.5


def test_image_does_not_depend_on_the_batch():
    raw = RawImages.of([smooth(28), smooth(105), NOISE, smooth(64)])
    which = RNG.integers(0, 4, 40)
    factors = Factors(scale=RNG.uniform(0.3, 1.5, 40), angle=RNG.uniform(0, 7, 40), x=RNG.uniform(0, 1, 40))
    together = compose(raw, which, factors, image_size=32, drawn_size=14)
    order = RNG.permutation(40)
    shuffled = compose(raw, which[order], factors[order], image_size=32, drawn_size=14)
    np.testing.assert_array_equal(shuffled, together[order])
    for i in range(40):
        alone = compose(
            RawImages.of([raw[which[i]]]), which[:1] * 0, factors[i], image_size=32, drawn_size=14
        )
        np.testing.assert_array_equal(alone[0], together[i])


def test_coverage_has_the_colour_of_the_factors():
    coverage = np.array([[[0], [128], [255]]], np.uint8)
    image = composed(coverage, Factors(colour=(1.0, 0.5, 0.0)), 3, 3, background=100, rgb=True)[0, 1]
    np.testing.assert_array_equal(image[0], [100, 100, 100])
    np.testing.assert_array_equal(image[1], [178, 114, 50])
    np.testing.assert_array_equal(image[2], [255, 128, 0])


def test_rgba_is_multiplied_by_the_colour_and_blended():
    image = np.array([[[200, 100, 50, 255], [100, 50, 25, 128], [0, 0, 0, 0]]], np.uint8)
    image = composed(image, Factors(colour=(1.0, 1.0, 0.5)), 3, 3, background=255, rgb=True)[0, 1]
    np.testing.assert_array_equal(image[0], [200, 100, 25])
    np.testing.assert_array_equal(image[1], [227, 177, 140])
    np.testing.assert_array_equal(image[2], [255, 255, 255])


def test_gray_is_the_luminance_of_the_colour():
    white = np.full((4, 4, 1), 255, np.uint8)
    colours = [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    images = composed(white, Factors(colour=colours), 16, 4)
    np.testing.assert_array_equal(images[:, 8, 8], [255, 76, 150, 29])


def test_edges_are_antialiased():
    photo = np.dstack([np.zeros((20, 20, 3), np.uint8), np.full((20, 20), 255, np.uint8)])
    image = composed(photo, Factors(angle=0.5), 64, 28, background=200, rgb=True)[0]
    assert image.min() == 0
    assert image.max() == 200
    assert len(np.unique(image)) > 20  # antialiased
    covered = (200 - image[..., 0].astype(float)).sum() / 200
    assert covered == pytest.approx(28 * 28, rel=0.02)


@given(
    st.floats(0.01, 50), st.floats(-100, 100), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(1, 40)
)
@settings(max_examples=50, deadline=None)
def test_extreme_poses(scale, angle, x, y, size):
    raw = RawImages.of([np.full((size, 7, 1), 255, np.uint8)])
    images = compose(raw, np.zeros(1, np.int64), Factors(scale, angle, x, y), image_size=16, drawn_size=8)
    assert images.shape == (1, 16, 16)
    if max(abs(x - 0.5), abs(y - 0.5)) > 1 + 8 * scale:
        assert images.max() == 0


def test_trimmed():
    blank = np.zeros((9, 9, 1), np.uint8)
    image = blank.copy()
    image[2:5, 3:8] = 7
    trimmed = RawImages.of([image, blank]).trimmed()
    assert trimmed.sizes.tolist() == [[3, 5], [9, 9]]
    assert (trimmed[0] == 7).all()


def golden_images():
    """Composed from integers, so that only the resampling can change a pixel."""
    image = (np.arange(50 * 50 * 4) ** 2 % 251).astype(np.uint8).reshape(50, 50, 4)
    image[..., :3] = np.minimum(image[..., :3], image[..., 3:])
    n = 64
    factors = Factors(
        scale=np.linspace(0.3, 1.7, n),
        angle=np.linspace(0, 6, n),
        x=np.linspace(0, 1, n),
        y=np.linspace(1, 0, n),
    )
    images = composed(image, factors, rgb=True, background=40)
    return hashlib.sha256(images.tobytes()).hexdigest()[:16]


GOLDEN = "56138d9a270eaea9"


def test_golden_pixels():
    assert golden_images() == GOLDEN


@pytest.mark.slow
def test_pixels_are_equal_on_another_processor(tmp_path):
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    code = f"import runpy; print(runpy.run_path({__file__!r})['golden_images']())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | plain, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == GOLDEN
