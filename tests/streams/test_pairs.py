import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES
from everlearn.streams import PairSampler, SpriteSettings

GRID = SpriteSettings(image_size=16, colour=3, rgb=True)
RANGES = SpriteSettings(
    image_size=16,
    scale={"low": 0.5, "high": 1.0},
    angle={"low": 0.0, "high": 6.28},
    x=1,
    y=2,
    colour={"low": 0.0, "high": 1.0},
)
VARYING = {"grid": {0, 1, 2, 3, 4}, "ranges": {0, 1, 3, 4}}


@pytest.fixture(params=["grid", "ranges"])
def case(request):
    settings = GRID if request.param == "grid" else RANGES
    return PairSampler(settings, n_shapes=20), VARYING[request.param]


def differences(one, other):
    geometry = [getattr(one.factors, n) != getattr(other.factors, n) for n in FACTOR_NAMES]
    return np.stack([*geometry, (one.factors.colour != other.factors.colour).any(axis=1)], axis=1)


def test_near_differs_in_one_factor_and_far_in_all(case):
    pairs, varying = case
    triplets = pairs.triplets(5, size=200)
    assert set(triplets.changed.tolist()) == varying
    assert (differences(triplets.reference, triplets.near) == np.eye(5, dtype=bool)[triplets.changed]).all()
    all_varying = np.isin(np.arange(5), list(varying))
    assert (differences(triplets.reference, triplets.far) == all_varying).all()
    assert (triplets.reference.labels == triplets.near.labels).all()
    assert (triplets.reference.images != triplets.near.images).reshape(200, -1).any(axis=1).all()


def test_analogies_change_the_same_factor(case):
    pairs, _ = case
    four = pairs.analogies(5, size=200)
    one_factor = np.eye(5, dtype=bool)[four.changed]
    assert (differences(four.a, four.b) == one_factor).all()
    assert (differences(four.c, four.d) == one_factor).all()
    assert not (differences(four.a, four.c) & one_factor).any()
    assert not (differences(four.b, four.d) & one_factor).any()
    assert (four.a.labels == four.b.labels).all()
    assert (four.c.labels == four.d.labels).all()
    assert (four.a.labels != four.c.labels).all()


def test_batches_are_pure():
    forwards, backwards = PairSampler(GRID), PairSampler(GRID)
    first = [forwards.triplets(k, size=3).near for k in (0, 1)]
    second = [backwards.triplets(k, size=3).near for k in (1, 0)]
    assert first == second[::-1]
    assert first[0] != first[1]


def test_images_agree_with_the_factors():
    batch = PairSampler(GRID, n_shapes=20).analogies(0, size=5).d
    stream = GRID.build()
    assert (batch.images == stream.source.render(batch.labels, batch.factors)).all()


def test_invalid_arguments_are_rejected():
    with pytest.raises(BadInput, match="n_shapes is 1"):
        PairSampler(GRID, n_shapes=1)
    with pytest.raises(BadInput, match="size is 0"):
        PairSampler(GRID).triplets(0, size=0)
