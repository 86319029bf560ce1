import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import FactorSpace, Poses

RANGES = FactorSpace(scale={"low": 0.5, "high": 1.0}, x={"low": 0, "high": 1})


def test_held_out_combinations_are_chosen_by_the_seed():
    first, again, other = (Poses(FactorSpace(), seed=seed, held_out=25) for seed in (0, 0, 1))
    assert len(first.held_out) == len(np.unique(first.held_out)) == 25
    assert first.held_out.tolist() == again.held_out.tolist() != other.held_out.tolist()
    assert sorted([*first.held_out, *first.shown]) == list(range(625))


def test_poses_of_a_grid_are_the_same_for_every_class():
    poses = Poses(FactorSpace(), seed=3)
    assert (
        poses.factors([0, 10**12], [17, 17]).array().tolist()
        == [poses.space.combination([17]).array()[0].tolist()] * 2
    )


def test_drawn_poses_belong_to_their_class_alone():
    poses = Poses(RANGES, seed=0, n=50)
    classes, numbers = np.array([7, 3, 7, 10**12]), np.array([4, 4, 49, 4])
    together = poses.factors(classes, numbers)
    for i in range(4):
        assert together[i] == poses.factors(classes[i : i + 1], numbers[i : i + 1])
    assert len(np.unique(together.scale)) == 4
    assert len(poses.factors([], [])) == 0


def test_drawn_poses_respect_a_held_out_box():
    box = {"scale": (0.9, 1.0), "x": (0.0, 0.5)}
    poses = Poses(RANGES, seed=0, n=500, held_out=box)
    assert len(poses.held_out) == 50
    for numbers, inside in ((poses.held_out, True), (poses.shown, False)):
        factors = poses.factors(np.full(len(numbers), 5), numbers)
        assert (((factors.scale >= 0.9) & (factors.x <= 0.5)) == inside).all()


def test_poses_around_a_box_are_spread_evenly():
    poses = Poses(RANGES, seed=0, n=20_000, held_out={"scale": (0.75, 1.0), "x": (0.0, 0.5)})
    shown = poses.factors(np.zeros(len(poses.shown), int), poses.shown)
    assert (shown.scale < 0.75).mean() == pytest.approx(2 / 3, abs=0.02)
    assert (shown.x < 0.5).mean() == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("space", "wrong", "words"),
    [
        (FactorSpace(), {"held_out": 625}, "held_out is 625; it must be from 0 to 624"),
        (FactorSpace(), {"held_out": -1}, "held_out is -1"),
        (FactorSpace(), {"held_out": {"scale": (0, 3)}}, "holds everything"),
        (FactorSpace(), {"held_out": {"scale": (0.51, 0.52)}}, "holds nothing"),
        (FactorSpace(), {"n": 10}, "625 poses, not 10"),
        (RANGES, {"held_out": 3}, "give a box"),
        (RANGES, {"held_out": {"scale": (0.2, 0.4)}}, "holds nothing"),
    ],
)
def test_impossible_poses_are_refused(space, wrong, words):
    with pytest.raises(BadInput, match=words):
        Poses(space, seed=0, **wrong)
