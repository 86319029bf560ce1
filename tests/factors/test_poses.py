import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import FactorSpace, Poses

RANGES = FactorSpace(scale={"low": 0.5, "high": 1.0}, x={"low": 0, "high": 1})


def test_held_out_combinations_depend_on_the_seed():
    first, again, other = (Poses(FactorSpace(), seed=seed, held_out=25) for seed in (0, 0, 1))
    assert len(first.held_out) == len(np.unique(first.held_out)) == 25
    assert first.held_out.tolist() == again.held_out.tolist() != other.held_out.tolist()
    assert sorted([*first.held_out, *first.not_held_out]) == list(range(625))


def test_discrete_poses_are_shared_by_all_classes():
    poses = Poses(FactorSpace(), seed=3)
    assert (
        poses.factors([0, 10**12], [17, 17]).array().tolist()
        == [poses.space.combination([17]).array()[0].tolist()] * 2
    )


def test_sampled_poses_are_independent_of_the_batch():
    poses = Poses(RANGES, seed=0, n=50)
    class_ids, indices = np.array([7, 3, 7, 10**12]), np.array([4, 4, 49, 4])
    together = poses.factors(class_ids, indices)
    for i in range(4):
        assert together[i] == poses.factors(class_ids[i : i + 1], indices[i : i + 1])
    assert len(np.unique(together.scale)) == 4
    assert len(poses.factors([], [])) == 0


def test_sampled_poses_respect_a_held_out_box():
    box = {"scale": (0.9, 1.0), "x": (0.0, 0.5)}
    poses = Poses(RANGES, seed=0, n=500, held_out=box)
    assert len(poses.held_out) == 50
    for indices, inside in ((poses.held_out, True), (poses.not_held_out, False)):
        factors = poses.factors(np.full(len(indices), 5), indices)
        assert (((factors.scale >= 0.9) & (factors.x <= 0.5)) == inside).all()


def test_poses_outside_a_box_are_uniform():
    poses = Poses(RANGES, seed=0, n=20_000, held_out={"scale": (0.75, 1.0), "x": (0.0, 0.5)})
    shown = poses.factors(np.zeros(len(poses.not_held_out), int), poses.not_held_out)
    assert (shown.scale < 0.75).mean() == pytest.approx(2 / 3, abs=0.02)
    assert (shown.x < 0.5).mean() == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("space", "arguments", "message"),
    [
        (FactorSpace(), {"held_out": 625}, "held_out is 625; it must be between 0 and 624"),
        (FactorSpace(), {"held_out": "some"}, "held_out is 'some'; give a number of poses"),
        (FactorSpace(), {"held_out": {"scale": 1}}, "the box in scale is 1; give .low, high."),
        (FactorSpace(scale={"low": 0.5, "high": 1}), {"n": 0}, "n is 0; it must be between 1"),
        (FactorSpace(), {"held_out": -1}, "held_out is -1"),
        (FactorSpace(), {"held_out": {"scale": (0, 3)}}, "contains everything"),
        (FactorSpace(), {"held_out": {"scale": (0.51, 0.52)}}, "contains nothing"),
        (FactorSpace(), {"n": 10}, "625 poses, not 10"),
        (RANGES, {"held_out": 3}, "give a box"),
        (RANGES, {"held_out": {"scale": (0.2, 0.4)}}, "contains nothing"),
    ],
)
def test_invalid_arguments_are_rejected(space, arguments, message):
    with pytest.raises(BadInput, match=message):
        Poses(space, seed=0, **arguments)
