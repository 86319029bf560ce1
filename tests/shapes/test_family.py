import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.shapes import Outlines, ShapeFamily

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "hashes.json").read_text())
LAST = 2**63 - 1


def sha(outlines: Outlines) -> str:
    used = np.arange(outlines.cubics.shape[1]) < outlines.n_vertices[:, None]
    return hashlib.sha256(outlines.n_vertices.tobytes() + outlines.cubics[used].tobytes()).hexdigest()


def self_intersects(points: np.ndarray) -> bool:
    """Compares all pairs of chords, independently of the compiled test."""
    a, b = points[:, None], np.roll(points, -1, axis=0)[:, None]
    c, d = a.swapaxes(0, 1), b.swapaxes(0, 1)

    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
        return (q - p)[..., 0] * (r - p)[..., 1] - (q - p)[..., 1] * (r - p)[..., 0]

    return bool(((side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)).any())


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("outlines")])
def test_golden_outlines(name: str) -> None:
    entry = GOLDEN[name]
    assert sha(ShapeFamily(**entry["family"]).outlines(np.array(entry["indices"]))) == entry["sha256"]


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, LAST), index=st.integers(0, LAST), others=st.lists(st.integers(0, LAST), max_size=5)
)
def test_outline_is_independent_of_the_batch(seed: int, index: int, others: list[int]) -> None:
    family = ShapeFamily(seed=seed)
    assert family.outline(index) == family.outlines([*others, index])[len(others)]


def test_adjacent_seeds_and_indices_differ() -> None:
    points = np.concatenate(
        [ShapeFamily(seed=seed).outlines([0, 1, 2**32, LAST]).points(16) for seed in (0, 1, 2**32, LAST)]
    )
    assert len(np.unique(points.reshape(16, -1), axis=0)) == 16


FAMILIES = [
    {},
    {"vertices": (3, 3)},
    {"vertices": (3, 32)},
    {"radial_noise": 1.0, "angular_noise": 1.0, "vertices": (3, 12)},
    {"radial_noise": 0.0, "angular_noise": 0.0},
    {"similarity": 1.0},
    {"similarity": 0.5, "group_size": 3, "difficulty": 1.0},
]


@pytest.mark.parametrize("options", FAMILIES)
def test_canonical_form(options: dict[str, object]) -> None:
    outlines = ShapeFamily(seed=5, **options).outlines(np.arange(300))  # type: ignore[arg-type]
    sides = outlines.bounds[:, 2:] - outlines.bounds[:, :2]
    assert np.abs(sides - 1).max() < 1e-12
    assert np.abs(outlines.centroid).max() < 1e-12
    assert outlines.area.min() >= 0.05
    assert np.isfinite(outlines.points(50)).all()
    for one in outlines[:40]:  # 12 points per segment, as in the compiled test
        assert not self_intersects(one.points(12 * int(one.n_vertices[0]))[0])


def test_vertices_and_orders_are_uniform() -> None:
    outlines = ShapeFamily(vertices=(4, 7)).outlines(np.arange(4000))
    counts = np.bincount(outlines.n_vertices)
    assert counts[:4].sum() == 0
    assert np.abs(counts[4:] / 4000 - 0.25).max() < 0.03
    # Smooth curves are rejected slightly more often.
    assert 0.45 < (outlines.orders == 3).mean() < 0.52
    assert (ShapeFamily(spline_orders=(3,)).outlines(np.arange(50)).orders == 3).all()


def test_shapes_without_noise_are_regular_polygons() -> None:
    square = ShapeFamily(vertices=(4, 4), radial_noise=0, angular_noise=0, spline_orders=(1,)).outline(0)
    corners = square.points(4)[0]
    assert np.linalg.norm(corners, axis=1) == pytest.approx(np.linalg.norm(corners[0]), abs=1e-5)
    rotation = np.array([[0, 1], [-1, 0]])
    assert corners @ rotation == pytest.approx(np.roll(corners, -1, axis=0), abs=1e-5)


def test_rejected_splines_become_polygons() -> None:
    noisy = ShapeFamily(vertices=(32, 32), radial_noise=1.0, angular_noise=1.0, spline_orders=(3,))
    outlines = noisy.outlines(np.arange(4))
    assert set(outlines.orders) <= {1, 3}
    assert 1 in outlines.orders
    assert outlines == noisy.outlines(np.arange(4))


def test_group_size_is_ignored_without_similarity() -> None:
    small, large = (ShapeFamily(group_size=n).outlines(np.arange(40)) for n in (2, 33))
    assert small == large


def test_similar_shapes_share_vertices_and_order() -> None:
    outlines = ShapeFamily(similarity=1.0, group_size=4).outlines(np.arange(400))
    assert (outlines.n_vertices.reshape(-1, 4) == outlines.n_vertices[::4, None]).all()
    assert (outlines.orders.reshape(-1, 4) == outlines.orders[::4, None]).mean() > 0.98


def test_correlation_within_groups_increases_with_similarity() -> None:
    correlations = []
    for similarity in (0.0, 0.7, 1.0):
        family = ShapeFamily(similarity=similarity, group_size=2, vertices=(6, 6), spline_orders=(1,))
        areas = family.outlines(np.arange(2000)).area.reshape(1000, 2)
        correlations.append(np.corrcoef(areas.T)[0, 1])
    assert abs(correlations[0]) < 0.1
    assert 0.1 < correlations[1] < 0.6
    assert correlations[2] > 0.8


def test_similar_shapes_are_distinct() -> None:
    points = ShapeFamily(similarity=1.0).outlines(np.arange(100)).points(20).reshape(100, -1)
    assert len(np.unique(points, axis=0)) == 100


def test_prototype_differs_from_the_shape_of_the_same_index() -> None:
    with_prototype, alone = ShapeFamily(similarity=1.0, group_size=1), ShapeFamily()
    indices = np.arange(50)
    assert (with_prototype.outlines(indices).n_vertices != alone.outlines(indices).n_vertices).any()


def test_variance_decreases_with_difficulty() -> None:
    spreads = [
        ShapeFamily(difficulty=d, vertices=(6, 6), spline_orders=(1,)).outlines(np.arange(300)).area.std()
        for d in (0.0, 0.5, 1.0)
    ]
    assert spreads[0] > spreads[1] > spreads[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"vertices": (2, 5)}, "vertices is (2, 5); it must be two whole numbers from 3 to 32, asc"),
        ({"vertices": (8, 5)}, "vertices is (8, 5)"),
        ({"vertices": (5.0, 6.0)}, "vertices is (5.0, 6.0)"),
        ({"vertices": 5}, "vertices is 5"),
        ({"radial_noise": -0.1}, "radial_noise is -0.1; it must be between 0 and 1"),
        ({"angular_noise": float("nan")}, "angular_noise is nan"),
        ({"spline_orders": (1, 2)}, "spline_orders is (1, 2); give (1,), (3,) or (1, 3)"),
        ({"spline_orders": 3}, "spline_orders is 3; give (1,), (3,) or (1, 3)"),
        ({"similarity": "high"}, "similarity is high; it must be between 0 and 1"),
        ({"group_size": 0}, "group_size is 0"),
        ({"group_size": 2.5}, "group_size is 2.5; it must be a whole number of shapes"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        ShapeFamily(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize("indices", [[-1], [0.5], [[1, 2]], [2**63], ["a"]])
def test_invalid_indices_are_rejected(indices: list[object]) -> None:
    with pytest.raises(BadInput, match="shape indices"):
        ShapeFamily().outlines(indices)  # type: ignore[arg-type]
