"""Views of an exemplar are where their geometry says; features tell rotations of things apart."""

import numpy as np
import pytest

from everlearn.recognition.features import GradientFeatures, make_features
from everlearn.recognition.views import angles, disturb, geometry, render, render_textured
from everlearn.rng import rng_at

from .things import thing


def test_views_fill_their_frame() -> None:
    exemplar = np.array(thing(2, 128))
    for angle in angles(upright=False)[::3]:
        view, mask = render(exemplar, angle, 96)
        differs = np.abs(view.astype(int) - 128).max(axis=2) > 20
        rows, columns = np.nonzero(differs)
        longest = max(np.ptp(rows), np.ptp(columns)) + 1
        assert longest == pytest.approx(96 / 1.16, abs=8)
        assert mask.mean() == pytest.approx(differs.mean(), abs=0.1)


def test_geometry_of_a_quarter_turn() -> None:
    exemplar = np.zeros((128, 128, 4), np.uint8)
    exemplar[40:50, 20:110] = 255  # a bar above the middle
    turned = geometry(exemplar, np.pi / 2)  # counterclockwise: now left of the middle
    assert turned.center == pytest.approx([-0.297, -0.016], abs=0.02)
    assert turned.half == pytest.approx(90 / 128, abs=0.02)


def test_the_nearest_view_is_that_of_the_same_thing_and_angle() -> None:
    features, turns = GradientFeatures(), angles(upright=False)
    exemplars = [np.array(thing(number, 128)) for number in range(4)]
    stored = [render(e, a, 64) for e in exemplars for a in turns]
    asked = [render(e, turns[5] + 0.1, 64) for e in exemplars]
    stored, asked = (features.describe(*map(np.stack, zip(*views, strict=True))) for views in (stored, asked))
    assert (asked @ stored.T).argmax(axis=1).tolist() == [len(turns) * i + 5 for i in range(4)]


def test_disturbed_images_are_reproducible_and_differ() -> None:
    exemplar = np.array(thing(1, 128))
    first, again, other = (
        disturb(exemplar, rng_at(0, "disturbed exemplar", 0, i), upright=False) for i in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first.astype(int) - other).mean() > 5


def test_a_texture_is_only_behind_the_object() -> None:
    exemplar = np.array(thing(1, 128))
    plain, mask = render(exemplar, 0.0, 128)
    textured = render_textured(exemplar, 128, rng_at(0, "textured exemplar", 0))
    cells = mask.repeat(16, axis=0).repeat(16, axis=1)
    assert (plain[cells == 1] == textured[cells == 1]).all()
    assert plain[cells == 0].std() == 0
    assert textured[cells == 0].std() > 10


def test_features_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    assert make_features("auto").name in ("gradients", "efficientnet-lite0")  # the latter if it is installed
    assert make_features("gradients").widths == GradientFeatures.widths
