import numpy as np
import pytest

from everlearn.streams import sprites_50
from everlearn.streams.sprite_sessions import SpriteSessionSource, path


def labels(stream, k):
    return set(stream.task(k).labels)


def test_task_sizes_are_those_of_core50():
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


def test_nic_has_every_session_of_every_class_once():
    stream = sprites_50(image_size=16, frames_per_session=2, scenario="nic")
    sessions = [tuple(row) for k in range(391) for row in class_sessions(stream, k)]
    assert len(set(sessions)) == len(sessions) == 400
    assert {c for c, _ in sessions} == set(range(50))


def class_sessions(stream, k):
    """The classes and sessions in the training images of a task."""
    train = stream.scenario.train_samples(k)
    return np.unique(np.stack([train.class_ids, train.image_ids // 2], axis=1), axis=0).tolist()


def test_nic_task_is_one_session():
    stream = sprites_50(image_size=16, frames_per_session=30, scenario="nic")
    for k in (1, 200, 390):
        images = np.sort(stream.scenario.train_samples(k).image_ids)
        assert images[0] % 30 == 0
        assert (np.diff(images) == 1).all()


def test_motion_is_smooth_within_a_session_only():
    source = SpriteSessionSource(sprites_50(frames_per_session=50).spec)
    _, factors = source.load(np.zeros(100, np.int64), np.arange(100))
    steps = np.abs(np.diff(np.stack([factors.scale, factors.x, factors.y], axis=1), axis=0))
    inside = np.delete(steps, 49, axis=0)
    assert inside.max() < 0.03
    assert steps[49].max() > 0.05
    rotations = np.diff(np.unwrap(factors.angle[:50]))
    np.testing.assert_allclose(rotations, rotations[0], atol=1e-9)
    assert abs(rotations.sum()) <= np.pi


def test_paths_are_within_the_image():
    units = np.random.default_rng(0).uniform(size=(10_000, 9))
    factors = path(units, np.linspace(0, 1, 10_000))
    assert 0.75 < factors.scale.min() < factors.scale.max() < 1.45
    for position in (factors.x, factors.y):
        assert 0.1 < position.min() < position.max() < 0.9
    assert 0 <= factors.angle.min() < factors.angle.max() < 2 * np.pi


def test_background_depends_on_the_session_only():
    source = SpriteSessionSource(sprites_50(image_size=64, frames_per_session=5).spec)

    def corner(class_id, session):
        images, _ = source.load(np.array([class_id]), np.array([5 * session]))
        return images[0, :4, :4].astype(int)

    assert (corner(0, 1) == corner(7, 1)).all()
    assert not (corner(0, 1) == corner(0, 2)).all()


@pytest.mark.parametrize("n_sessions", [4, 20])
def test_other_number_of_sessions(n_sessions):
    stream = sprites_50(image_size=16, frames_per_session=10, scenario="ni", n_sessions=n_sessions)
    assert len(stream) == n_sessions
    assert len(stream.task(0).train) == 50 * 80 // n_sessions
