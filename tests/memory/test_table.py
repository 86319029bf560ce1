import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.memory.table import ColumnTable, LabeledTable


def table_of(*values: int) -> ColumnTable:
    table = ColumnTable()
    table.append({"value": np.array(values)})
    return table


def test_capacity_doubles() -> None:
    table, sizes = ColumnTable(), set()
    for k in range(1000):
        table.append({"value": np.array([k])})
        sizes.add(table.nbytes // 8)
    assert sizes == {2**k for k in range(11)}
    assert table["value"].tolist() == list(range(1000))


def test_max_rows_limits_the_capacity() -> None:
    table = ColumnTable(max_rows=5)
    for k in range(5):
        table.append({"value": np.array([k])})
    assert table.nbytes == 5 * 8


def test_remove_moves_rows_from_the_end_and_clears_the_rest() -> None:
    table = table_of(10, 11, 12, 13, 14)
    gaps, moved = table.remove(np.array([3, 0]))
    assert (gaps.tolist(), moved.tolist()) == ([0], [4])
    assert table["value"].tolist() == [14, 11, 12]
    assert table._columns["value"].tolist() == [14, 11, 12, 0, 0]


def test_columns_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table_of(1)["value"][0] = 2


def test_state_is_a_copy() -> None:
    table = table_of(1, 2)
    state = table.state()
    table.overwrite(np.array([0]), {"value": np.array([9])})
    assert state["value"].tolist() == [1, 2]


def test_float_vectors_widen_with_nan_both_ways() -> None:
    table = ColumnTable()
    table.append({"logits": np.ones((1, 2), np.float32)})
    table.append({"logits": np.full((1, 3), 2, np.float32)})
    table.overwrite(np.array([1]), {"logits": np.full((1, 1), 3, np.float32)})
    np.testing.assert_array_equal(
        table["logits"], np.array([[1, 1, np.nan], [3, np.nan, np.nan]], np.float32)
    )


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"value": np.array([1]), "other": np.array([1])}, "this memory has"),
        ({"value": np.array([1.0])}, "dtype float64"),
        ({"value": np.array([[1]])}, r"shape \(1,\) per row"),
    ],
)
def test_rejected_rows_change_nothing(parts: dict[str, np.ndarray], sentence: str) -> None:
    table = table_of(1)
    with pytest.raises(BadInput, match=sentence):
        table.append(parts)
    assert table["value"].tolist() == [1]


def test_different_lengths_are_rejected() -> None:
    with pytest.raises(BadInput, match="different lengths"):
        ColumnTable().append({"a": np.zeros(1), "b": np.zeros(2)})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10**6)), max_size=40))
def test_rows_of_a_label_stay_in_order(edits: list[tuple[int, int]]) -> None:
    """Compared with a list of values per label."""
    table, model, number = LabeledTable(), dict[int, list[int]](), 0
    for label, choice in edits:
        known = model.get(label, [])
        if choice % 3 and known:
            removed = choice % len(known)
            table.remove(table.rows_of(label)[removed : removed + 1 + choice % 2])
            del known[removed : removed + 1 + choice % 2]
        else:
            table.append({"labels": np.array([label]), "value": np.array([number])})
            model.setdefault(label, []).append(number)
            number += 1
    model = {label: values for label, values in model.items() if values}
    assert table.labels() == sorted(model)
    for label, values in model.items():
        assert table["value"][table.rows_of(label)].tolist() == values
    copy = LabeledTable()
    copy.load(table.state())
    assert all(copy.rows_of(label).tolist() == table.rows_of(label).tolist() for label in model)


def test_damaged_row_order_is_rejected() -> None:
    table = LabeledTable()
    table.append({"labels": np.array([1, 2])})
    with pytest.raises(BadInput, match="damaged"):
        LabeledTable().load({**table.state(), "row order": np.array([0, 0])})
