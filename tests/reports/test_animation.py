from pathlib import Path

import numpy as np
from PIL import Image

from everlearn import streams
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.reports import factor_animation
from everlearn.reports.animation import (
    FINE_SIZE,
    N_FRAMES,
    TILE_SIZE,
    _large_exemplars,
    _poses,
    _transform,
)
from everlearn.shapes import ShapeFamily

small = streams.sprites(image_size=16, factor_values=2, classes_per_task=3, split=(10, 3, 3))


def test_transformed_exemplars_match_rendered_shapes() -> None:
    pose = Factors(scale=0.7, angle=1.0, x=0.3, y=0.8)
    exemplar = _large_exemplars(small, 1)[0]
    rendered = render(ShapeFamily(seed=0).outline(3), pose, image_size=TILE_SIZE)[0]
    assert np.abs(_transform(exemplar, pose).astype(int) - rendered).mean() < 1.0


def test_canonical_pose_changes_nothing() -> None:
    exemplar = _large_exemplars(small, 0)[0]
    assert np.array_equal(
        _transform(exemplar, Factors()), np.asarray(exemplar.reduce(FINE_SIZE // TILE_SIZE))
    )


def test_every_factor_starts_at_its_canonical_value() -> None:
    poses = list(_poses())
    names = [name for name, _ in poses]
    assert names[::N_FRAMES] == ["angle", "scale", "x", "y", "all factors"]
    for start in range(0, len(poses), N_FRAMES):
        assert np.allclose(poses[start][1].array(), Factors().array())


def test_progress_is_reported() -> None:
    calls: list[tuple[int, int, str]] = []
    frames = factor_animation(small, 0, lambda *step: calls.append(step))
    assert [done for done, _, _ in calls] == list(range(1, len(frames) + 1))
    assert {total for _, total, _ in calls} == {len(frames)}
    assert len({frame.size for frame in frames}) == 1


def test_images_of_a_folder_are_transformed(tmp_path: Path) -> None:
    for name, gray in (("ant", 50), ("bee", 200)):
        (tmp_path / name).mkdir()
        for i in range(6):
            Image.new("L", (20, 20), gray + i).save(tmp_path / name / f"{i}.png")
    stream = streams.folder(data=str(tmp_path), classes_per_task=2, image_size=32)
    frames = factor_animation(stream, 0)
    assert len(frames) == 5 * N_FRAMES
    assert not np.array_equal(np.asarray(frames[0]), np.asarray(frames[N_FRAMES // 2]))
