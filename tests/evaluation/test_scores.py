import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.evaluation import Row, ScoreTable
from everlearn.evaluation.scores import mean_table

NAN = float("nan")

MEASUREMENTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.floats(0, 1)), max_size=40)


@given(MEASUREMENTS)
def test_later_scores_replace_earlier_ones(measured: list[tuple[int, int, float]]) -> None:
    table, model = ScoreTable(), dict[tuple[int, int], float]()
    for after, task, score in measured:
        table.add(after, task, score)
        model[after, task] = score
    array = np.asarray(table)
    size = 1 + max([max(pair) for pair in model], default=-1)
    assert array.shape == (size, size)
    assert {tuple(cell): array[tuple(cell)] for cell in np.argwhere(~np.isnan(array)).tolist()} == model
    np.testing.assert_array_equal(np.asarray(ScoreTable.from_array(array)), array)


def test_long_tables_are_sparse() -> None:
    table = ScoreTable()
    for after in range(0, 100_000, 1000):
        table.add_row(after, {after: 0.5, after // 2: 0.25})
    assert (len(table), table.n_tasks) == (199, 99_001)
    rows = list(table.rows())
    assert [row.after for row in rows] == list(range(0, 100_000, 1000))
    assert (rows[-1].tasks.tolist(), rows[-1].scores.tolist()) == ([49_500, 99_000], [0.25, 0.5])


def test_set_row_replaces_and_add_extends() -> None:
    table = ScoreTable()
    table.add_row(2, {1: 0.5, 0: 0.25})
    table.add(2, 1, 0.75)
    table.add(2, 2, 1)
    assert [(row.tasks.tolist(), row.scores.tolist()) for row in table.rows()] == [
        ([0, 1, 2], [0.25, 0.75, 1.0])
    ]
    table.set_row(Row.from_counts(2, tasks=[0, 4], correct=[1, 2], total=[2, 2]))
    assert np.asarray(table)[2].tolist() == pytest.approx([0.5, NAN, NAN, NAN, 1.0], nan_ok=True)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ((-1, 0, 0.5), "after is -1"),
        ((0, -1, 0.5), "task is -1"),
        ((0, 1.5, 0.5), "task is 1.5"),
        ((0, True, 0.5), "task is True"),
        ((0, 0, 87.0), "between 0 and 1"),
        ((0, 0, float("nan")), "between 0 and 1"),
        ((0, 0, "high"), "between 0 and 1"),
    ],
)
def test_invalid_scores_are_refused(row: tuple[int, int, float], sentence: str) -> None:
    table = ScoreTable()
    with pytest.raises(BadInput, match=sentence):
        table.add(*row)
    with pytest.raises(BadInput):
        table.add_row(0, {0: 0.5, 1: 2.0})
    assert repr(table) == "<ScoreTable: 0 scores on 0 tasks>"


def test_tables_must_be_square() -> None:
    with pytest.raises(BadInput, match=r"shape \(2, 3\)"):
        ScoreTable.from_array(np.zeros((2, 3)))


def test_mean_table_averages_measured_cells() -> None:
    nan = NAN
    tables = [[[1.0, nan], [0.5, 0.25]], [[0.5, nan], [nan, 0.75]]]
    found = mean_table([ScoreTable.from_array(table) for table in tables])
    assert found.ravel().tolist() == pytest.approx([0.75, nan, 0.5, 0.5], nan_ok=True)


def test_mean_table_merges_tasks_of_long_tables() -> None:
    scores = np.where(np.tri(12, dtype=bool), np.linspace(0, 1, 144).reshape(12, 12), np.nan)
    blocks = scores.reshape(3, 4, 3, 4)
    expected = [
        [np.nan if np.isnan(b := blocks[i, :, j]).all() else np.nanmean(b) for j in range(3)]
        for i in range(3)
    ]
    np.testing.assert_allclose(mean_table([ScoreTable.from_array(scores)], max_size=3), expected)
    assert mean_table([ScoreTable()]).shape == (0, 0)
