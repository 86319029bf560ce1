import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.shapes import ShapeFamily

N = 64
OUTLINES = ShapeFamily(seed=1).outlines(np.arange(N))
FACTORS = Factors(scale=np.linspace(0.5, 1, N), angle=np.linspace(0, 6, N))
PLAIN = render(OUTLINES, FACTORS).astype(float)


def disturbed(**options: float) -> np.ndarray:
    return render(OUTLINES, FACTORS, nuisances=Nuisances(**options)).astype(float)  # type: ignore[arg-type]


def test_none_of_them_changes_nothing() -> None:
    assert np.array_equal(render(OUTLINES, FACTORS, nuisances=Nuisances()), PLAIN)


def test_almost_none_changes_almost_nothing() -> None:
    """The layers are painted by another road than plain images, and lead to the same place."""
    for options in ({}, {"rgb": True}, {"rgb": True, "channels_first": True}):
        plain = render(OUTLINES, FACTORS, **options).astype(float)
        faint = render(OUTLINES, FACTORS, nuisances=Nuisances(lighting=1e-9), **options)
        assert np.abs(faint - plain).max() <= 1


def test_noise_has_the_strength_asked_for() -> None:
    background = PLAIN == 169
    assert (disturbed(noise=0.1) - PLAIN)[background].std() == pytest.approx(25.5, rel=0.03)


def test_texture_and_clutter_stay_behind_the_shape() -> None:
    inside = (PLAIN == 255) | (PLAIN == 0)
    for options in ({"texture": 0.4}, {"clutter": 12}):
        change = np.abs(disturbed(**options) - PLAIN)
        assert change[inside].max() <= 1  # a byte of 255 may stand for a coverage of 0.998
        assert (change[~inside] > 1).mean() > 0.05


def test_more_clutter_covers_more() -> None:
    covered = [(disturbed(clutter=n) != PLAIN).mean() for n in (1, 4, 16)]
    assert covered[0] < covered[1] < covered[2]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_the_occluder_covers_its_share(share: float) -> None:
    nowhere = Factors(scale=1e-6, x=np.full(N, -8.0))
    white = render(OUTLINES, nowhere, 256, background=1.0, nuisances=Nuisances(occluder=share))
    assert (white < 255).mean() == pytest.approx(share, rel=0.15)


def test_lighting_only_darkens() -> None:
    lit = disturbed(lighting=0.8)
    assert (lit <= PLAIN).all()
    assert lit.mean() == pytest.approx(0.6 * PLAIN.mean(), rel=0.05)


def test_blur_keeps_the_mean_light() -> None:
    soft = disturbed(blur=2.0)
    assert soft.mean() == pytest.approx(PLAIN.mean(), abs=0.5)
    assert np.abs(np.diff(soft)).max() < 0.5 * np.abs(np.diff(PLAIN)).max()


def test_each_row_and_seed_has_its_own() -> None:
    one, two = OUTLINES[[0, 0]], Factors()
    options = {"nuisances": Nuisances(texture=0.3)}
    same = render(one, two, rows=[7, 7], **options)
    assert np.array_equal(same[0], same[1])
    assert not np.array_equal(same[0], render(one, two, rows=[8, 9], **options)[0])
    assert not np.array_equal(same[0], render(one, two, rows=[7, 7], seed=1, **options)[0])
    assert render(one, two, rows=[-1, 2**63 - 1], **options).shape == (2, 64, 64)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"noise": -0.1}, "noise is -0.1"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"blur": 17}, "blur is 17; it must be between 0 and 16"),
        ({"occluder": 0.6}, "occluder is 0.6"),
        ({"clutter": 1.5}, "clutter is 1.5; it must be a whole number of shapes"),
        ({"clutter": 33}, "clutter is 33"),
        ({"lighting": 2}, "lighting is 2"),
        ({"texture": -1}, "texture is -1"),
    ],
)
def test_bad_nuisances_are_refused(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        Nuisances(**options)  # type: ignore[arg-type]
    assert sentence in str(caught.value)
