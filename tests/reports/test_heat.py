import numpy as np
import pytest

from everlearn.evaluation import ScoreTable
from everlearn.reports import axes
from everlearn.reports.axes import mean_table


def test_every_cell_is_the_mean_of_those_who_measured_it() -> None:
    nan = np.nan
    tables = [[[1.0, nan], [0.5, 0.25]], [[0.5, nan], [nan, 0.75]]]
    found = mean_table([ScoreTable.from_array(table) for table in tables])
    assert found.ravel().tolist() == pytest.approx([0.75, nan, 0.5, 0.5], nan_ok=True)


def test_long_tables_share_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "FINEST", 3)
    scores = np.where(np.tri(12, dtype=bool), np.linspace(0, 1, 144).reshape(12, 12), np.nan)
    blocks = scores.reshape(3, 4, 3, 4)
    expected = [
        [np.nan if np.isnan(b := blocks[i, :, j]).all() else np.nanmean(b) for j in range(3)]
        for i in range(3)
    ]
    np.testing.assert_allclose(mean_table([ScoreTable.from_array(scores)]), expected)


def test_nothing_measured() -> None:
    assert mean_table([ScoreTable()]).shape == (0, 0)
