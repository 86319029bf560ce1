import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.rendering.nuisances import add_noise, blur, light, normal_quantiles, smooth_pattern, uniforms
from everlearn.shapes import ShapeFamily

N = 64
OUTLINES = ShapeFamily(seed=1).outlines(np.arange(N))
FACTORS = Factors(scale=np.linspace(0.5, 1, N), angle=np.linspace(0, 6, N))
PLAIN = render(OUTLINES, FACTORS).astype(float)


def disturbed(**options: float) -> np.ndarray:
    return render(OUTLINES, FACTORS, nuisances=Nuisances(**options)).astype(float)  # type: ignore[arg-type]


def test_no_nuisance_is_the_plain_renderer() -> None:
    assert np.array_equal(render(OUTLINES, FACTORS, nuisances=Nuisances()), PLAIN)


def test_weak_nuisance_agrees_with_the_plain_renderer() -> None:
    for options in ({}, {"rgb": True}, {"rgb": True, "channels_first": True}):
        plain = render(OUTLINES, FACTORS, **options).astype(float)
        faint = render(OUTLINES, FACTORS, nuisances=Nuisances(lighting=1e-9), **options)
        assert np.abs(faint - plain).max() <= 1


def test_noise_has_the_given_standard_deviation() -> None:
    background = PLAIN == 169
    assert (disturbed(noise=0.1) - PLAIN)[background].std() == pytest.approx(25.5, rel=0.03)


def test_texture_and_clutter_are_behind_the_shape() -> None:
    inside = (PLAIN == 255) | (PLAIN == 0)
    for options in ({"texture": 0.4}, {"clutter": 12}):
        change = np.abs(disturbed(**options) - PLAIN)
        assert change[inside].max() <= 1  # 255 may stand for a coverage of 0.998
        assert (change[~inside] > 1).mean() > 0.05


@pytest.mark.parametrize("area", [0.02, 0.1, 0.3])
def test_occluder_covers_its_area(area: float) -> None:
    outside = Factors(scale=1e-6, x=np.full(N, -8.0))
    white = render(OUTLINES, outside, 256, background=1.0, nuisances=Nuisances(occluder=area))
    assert (white < 255).mean() == pytest.approx(area, rel=0.15)


def test_lighting_only_darkens() -> None:
    lit = disturbed(lighting=0.8)
    assert (lit <= PLAIN).all()
    assert lit.mean() == pytest.approx(0.6 * PLAIN.mean(), rel=0.05)


def test_blur_keeps_the_mean() -> None:
    blurred = disturbed(blur=2.0)
    assert blurred.mean() == pytest.approx(PLAIN.mean(), abs=0.5)
    assert np.abs(np.diff(blurred)).max() < 0.5 * np.abs(np.diff(PLAIN)).max()


def test_nuisances_depend_on_row_and_seed() -> None:
    outlines, factors = OUTLINES[[0, 0]], Factors()
    options = {"nuisances": Nuisances(texture=0.3)}
    same = render(outlines, factors, rows=[7, 7], **options)
    assert np.array_equal(same[0], same[1])
    assert not np.array_equal(same[0], render(outlines, factors, rows=[8, 9], **options)[0])
    assert not np.array_equal(same[0], render(outlines, factors, rows=[7, 7], seed=1, **options)[0])
    assert render(outlines, factors, rows=[-1, 2**63 - 1], **options).shape == (2, 64, 64)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "noise is -0.1"),
        ({"blur": 17}, "blur is 17; it must be between 0 and 16"),
        ({"occluder": 0.6}, "occluder is 0.6"),
        ({"clutter": 1.5}, "clutter is 1.5; it must be a whole number of shapes"),
        ({"clutter": 33}, "clutter is 33"),
    ],
)
def test_invalid_strengths_are_rejected(options: dict[str, float], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        Nuisances(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize("std", [0.3, 1.0, 2.5])
def test_blur_of_a_point_is_a_gaussian(std: float) -> None:
    point = np.zeros((1, 1, 41, 41), np.float32)
    point[0, 0, 20, 20] = 1
    spot = blur(point, std)[0, 0]
    y, x = np.mgrid[-20:21, -20:21]
    expected = np.exp(-(x**2 + y**2) / (2 * std**2))
    assert spot == pytest.approx(expected / expected.sum(), abs=2e-3)
    assert spot.sum() == pytest.approx(1, abs=1e-5)
    assert np.array_equal(spot, spot.T)


def test_blur_keeps_constant_images() -> None:
    constant = np.full((2, 3, 16, 16), 0.7, np.float32)
    assert blur(constant, 3.0) == pytest.approx(constant, abs=1e-6)


def test_light_darkens_one_side() -> None:
    canvas = np.ones((2, 1, 32, 32), np.float32)
    light(canvas, np.array([0.0, np.pi / 2]), 0.6)
    assert canvas[0, 0, :, 0] == pytest.approx(1, abs=0.02)
    assert canvas[0, 0, :, -1] == pytest.approx(0.4, abs=0.02)
    assert canvas[1, 0] == pytest.approx(canvas[0, 0].T)


def test_smooth_pattern_interpolates_its_lattice() -> None:
    lattice = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    values = smooth_pattern(lattice, 64)[0]
    assert -1 <= values.min() < -0.9
    assert 1 >= values.max() > 0.9
    assert values[0, 0] < 0 < values[0, -1]
    assert np.abs(np.diff(values, axis=0)).max() < 0.06


def test_quantiles_are_standard_normal() -> None:
    values = normal_quantiles().astype(float)
    assert abs(values.mean()) < 1e-6
    assert abs(values.std() - 1) < 2e-3
    assert (np.diff(values) > 0).all()


def test_uniforms_depend_on_the_row() -> None:
    rows = np.array([5, 2**62, -1, 5])
    values = uniforms(np.uint64(3), rows, 7, 50)
    assert np.array_equal(values[0], values[3])
    assert np.array_equal(values[1:2], uniforms(np.uint64(3), rows[1:2], 7, 50))
    assert not np.array_equal(values[0], values[1])
    assert 0 < values.min() < 0.1 < 0.9 < values.max() < 1


def test_noise_is_independent_across_pixels_rows_and_seeds() -> None:
    def noise(seed: int) -> np.ndarray:
        canvas = np.zeros((20, 1003), np.float32)
        add_noise(np.uint64(seed), np.arange(20), 9, normal_quantiles(), np.float32(0.5), canvas)
        return canvas

    values = noise(1)
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 0.5) < 0.01
    assert np.abs(np.corrcoef(values) - np.eye(20)).max() < 0.15
    assert abs(np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]) < 0.02
    assert not np.array_equal(values, noise(2))
