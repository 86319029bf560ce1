"""The twin of CORe50: its counts, its sessions, and that motion in them is smooth."""

import numpy as np
import pytest

from everlearn.streams import build, sprites_50
from everlearn.streams.sprite_sessions import FilmedSource, path


def labels(stream, k):
    return set(stream.task(k).labels)


def test_the_scenarios_count_as_core50_s_do():
    nc, nic, ni = (
        sprites_50(image_size=16, frames_per_session=2, scenario=name) for name in ("nc", "nic", "ni")
    )
    assert [len(stream) for stream in (nc, nic, ni)] == [9, 391, 8]
    assert [len(labels(nc, k)) for k in range(9)] == [10, *[5] * 8]
    assert len(labels(nic, 0)) == 10
    assert all(len(labels(nic, k)) == 1 for k in range(1, 391))
    assert all(len(labels(ni, k)) == 50 for k in range(8))
    assert len(nc.task(0).train) == 10 * 8 * 2
    assert len(nic.task(0).train) == 10 * 2
    assert len(nic.task(77).train) == 2
    assert len(ni.task(3).train) == 50 * 2
    assert len(nc.eval_sample(9, size=10**6)) == 50 * 3 * 2


def test_every_session_of_every_class_comes_once_in_nic():
    stream = sprites_50(image_size=16, frames_per_session=2, scenario="nic")
    met = [tuple(row) for k in range(391) for row in rows(stream, k)]
    assert len(set(met)) == len(met) == 400
    assert {c for c, _ in met} == set(range(50))


def rows(stream, k):
    """Class and session of what is learned in a task."""
    train = stream.scenario.train(k)
    return np.unique(np.stack([train.classes, train.images // 2], axis=1), axis=0).tolist()


def test_a_task_of_nic_is_one_session():
    stream = sprites_50(image_size=16, frames_per_session=30, scenario="nic")
    for k in (1, 200, 390):
        images = np.sort(stream.scenario.train(k).images)
        assert images[0] % 30 == 0
        assert (np.diff(images) == 1).all()


def test_motion_is_smooth_inside_a_session_and_jumps_between_them():
    source = FilmedSource(sprites_50(frames_per_session=50).spec)
    _, factors = source.draw(np.zeros(100, np.int64), np.arange(100))
    steps = np.abs(np.diff(np.stack([factors.scale, factors.x, factors.y], axis=1), axis=0))
    inside = np.delete(steps, 49, axis=0)
    assert inside.max() < 0.03
    assert steps[49].max() > 0.05
    turns = np.diff(np.unwrap(factors.angle[:50]))
    np.testing.assert_allclose(turns, turns[0], atol=1e-9)
    assert abs(turns.sum()) <= np.pi


def test_paths_stay_in_the_image():
    units = np.random.default_rng(0).uniform(size=(10_000, 9))
    factors = path(units, np.linspace(0, 1, 10_000))
    assert 0.75 < factors.scale.min() < factors.scale.max() < 1.45
    for place in (factors.x, factors.y):
        assert 0.1 < place.min() < place.max() < 0.9
    assert 0 <= factors.angle.min() < factors.angle.max() < 2 * np.pi


def test_the_background_is_the_session_s_whatever_is_filmed():
    source = FilmedSource(sprites_50(image_size=64, frames_per_session=5).spec)

    def corner(class_id, session):
        images, _ = source.draw(np.array([class_id]), np.array([5 * session]))
        return images[0, :4, :4].astype(int)

    assert (corner(0, 1) == corner(7, 1)).all()
    assert not (corner(0, 1) == corner(0, 2)).all()


def test_pixels_are_what_they_were():
    assert (
        build({"stream": "sprites-50", "image_size": 16, "frames_per_session": 3}).fingerprint()
        == "83c5db7db549d151"
    )


@pytest.mark.parametrize("sessions", [4, 20])
def test_other_sessions_than_were_filmed_are_cut_from_all_frames(sessions):
    stream = sprites_50(image_size=16, frames_per_session=10, scenario="ni", n_sessions=sessions)
    assert len(stream) == sessions
    assert len(stream.task(0).train) == 50 * 80 // sessions
