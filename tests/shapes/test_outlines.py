import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.shapes import ShapeFamily

OUTLINES = ShapeFamily(seed=3).outlines(np.arange(12))


def test_indexing_and_iteration() -> None:
    assert len(OUTLINES) == 12
    assert OUTLINES[-1] == OUTLINES[[11]] == list(OUTLINES)[11]
    assert OUTLINES[np.arange(12) % 2 == 0] == OUTLINES[::2]
    assert OUTLINES[:3] != OUTLINES[1:4]
    assert OUTLINES != "outlines"


def test_equality_ignores_undefined_segments() -> None:
    padded = ShapeFamily(seed=3, vertices=(5, 8)).outlines(np.arange(12))
    padded.cubics[np.arange(8) >= padded.n_vertices[:, None]] = np.nan
    assert padded == OUTLINES


def test_points_include_the_vertices() -> None:
    for one in OUTLINES:
        n = int(one.n_vertices[0])
        assert one.points(n)[0] == pytest.approx(one.cubics[0, :n, :, 0])
        assert one.points(5 * n)[0, ::5] == pytest.approx(one.cubics[0, :n, :, 0])


def test_too_few_points_are_rejected() -> None:
    with pytest.raises(BadInput, match="at least 3"):
        OUTLINES.points(2)
