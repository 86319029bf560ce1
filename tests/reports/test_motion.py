from pathlib import Path

import numpy as np
from PIL import Image

from everlearn import streams
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.reports import moving_portrait
from everlearn.reports.animation import FINE, FRAMES, TILE, _acts, _fine, _large_exemplars, _posed
from everlearn.shapes import ShapeFamily

small = streams.sprites(image_size=16, factor_values=2, classes_per_task=3, split=(10, 3, 3))


def test_motion_is_that_of_the_renderer() -> None:
    """A warped exemplar looks like the same shape drawn in that pose."""
    pose = Factors(scale=0.7, angle=1.0, x=0.3, y=0.8)
    exemplar = _fine(_large_exemplars(small, 1)[0])
    drawn = render(ShapeFamily(seed=0).outline(3), pose, image_size=TILE)[0]
    assert np.abs(_posed(exemplar, pose).astype(int) - drawn).mean() < 1.0


def test_the_canonical_pose_leaves_the_image_alone() -> None:
    exemplar = _fine(_large_exemplars(small, 0)[0])
    assert np.array_equal(_posed(exemplar, Factors()), np.asarray(exemplar.reduce(FINE // TILE)))


def test_every_act_begins_and_ends_at_rest() -> None:
    acts = list(_acts())
    words = [word for word, _ in acts]
    assert words[::FRAMES] == ["angle", "scale", "x", "y", "all together"]
    for start in range(0, len(acts), FRAMES):
        assert np.allclose(acts[start][1].array(), Factors().array())


def test_progress_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    pages = moving_portrait(small, 0, lambda *step: told.append(step))
    assert [done for done, _, _ in told] == list(range(1, len(pages) + 1))
    assert {total for _, total, _ in told} == {len(pages)}
    assert len({page.size for page in pages}) == 1


def test_a_stream_that_cannot_draw_larger_moves_what_it_has(tmp_path: Path) -> None:
    for name, gray in (("ant", 50), ("bee", 200)):
        (tmp_path / name).mkdir()
        for i in range(6):
            Image.new("L", (20, 20), gray + i).save(tmp_path / name / f"{i}.png")
    stream = streams.folder(data=str(tmp_path), classes_per_task=2, image_size=32)
    pages = moving_portrait(stream, 0)
    assert len(pages) == 5 * FRAMES
    assert not np.array_equal(np.asarray(pages[0]), np.asarray(pages[FRAMES // 2]))
