import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.memory.table import LabelledRows, Rows


def rows_with(*values: int) -> Rows:
    rows = Rows()
    rows.append({"value": np.array(values)})
    return rows


def test_room_doubles_so_that_growing_is_rare() -> None:
    rows, sizes = Rows(), set()
    for k in range(1000):
        rows.append({"value": np.array([k])})
        sizes.add(rows.nbytes // 8)
    assert sizes == {2**k for k in range(11)}
    assert rows["value"].tolist() == list(range(1000))


def test_no_room_is_made_beyond_the_limit() -> None:
    rows = Rows(limit=5)
    for k in range(5):
        rows.append({"value": np.array([k])})
    assert rows.nbytes == 5 * 8


def test_trimming_gives_spare_room_back() -> None:
    rows = rows_with(*range(8))
    rows.append({"value": np.array([8])})
    assert rows.nbytes == 16 * 8
    rows.trim()
    assert (rows.nbytes, rows["value"].tolist()) == (9 * 8, list(range(9)))


def test_removing_fills_holes_from_the_end_and_blanks_what_is_left() -> None:
    rows = rows_with(10, 11, 12, 13, 14)
    holes, movers = rows.remove(np.array([3, 0]))
    assert (holes.tolist(), movers.tolist()) == ([0], [4])
    assert rows["value"].tolist() == [14, 11, 12]
    assert rows._columns["value"].tolist() == [14, 11, 12, 0, 0]


def test_columns_cannot_be_written_from_outside() -> None:
    with pytest.raises(ValueError, match="read-only"):
        rows_with(1)["value"][0] = 2


def test_state_is_a_copy() -> None:
    rows = rows_with(1, 2)
    state = rows.state()
    rows.overwrite(np.array([0]), {"value": np.array([9])})
    assert state["value"].tolist() == [1, 2]


def test_float_vectors_widen_with_nan_both_ways() -> None:
    rows = Rows()
    rows.append({"logits": np.ones((1, 2), np.float32)})
    rows.append({"logits": np.full((1, 3), 2, np.float32)})
    rows.overwrite(np.array([1]), {"logits": np.full((1, 1), 3, np.float32)})
    np.testing.assert_array_equal(rows["logits"], np.array([[1, 1, np.nan], [3, np.nan, np.nan]], np.float32))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"value": np.array([1]), "other": np.array([1])}, "this memory holds"),
        ({"value": np.array([1.0])}, "of type float64"),
        ({"value": np.array([[1]])}, r"shape \(1,\) a row"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_change_nothing(
    parts: dict[str, np.ndarray], sentence: str
) -> None:
    rows = rows_with(1)
    with pytest.raises(BadInput, match=sentence):
        rows.append(parts)
    assert rows["value"].tolist() == [1]


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(BadInput, match="different lengths"):
        Rows().append({"a": np.zeros(1), "b": np.zeros(2)})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10**6)), max_size=40))
def test_labels_keep_their_rows_in_order_whatever_is_removed(acts: list[tuple[int, int]]) -> None:
    """Against a plain model: a list of values per label."""
    rows, model, number = LabelledRows(), dict[int, list[int]](), 0
    for label, choice in acts:
        known = model.get(label, [])
        if choice % 3 and known:
            gone = choice % len(known)
            rows.remove(rows.of(label)[gone : gone + 1 + choice % 2])
            del known[gone : gone + 1 + choice % 2]
        else:
            rows.append({"labels": np.array([label]), "value": np.array([number])})
            model.setdefault(label, []).append(number)
            number += 1
    model = {label: values for label, values in model.items() if values}
    assert rows.labels() == sorted(model)
    for label, values in model.items():
        assert rows["value"][rows.of(label)].tolist() == values
    copy = LabelledRows()
    copy.load(rows.state())
    assert all(copy.of(label).tolist() == rows.of(label).tolist() for label in model)


def test_a_damaged_order_is_refused() -> None:
    rows = LabelledRows()
    rows.append({"labels": np.array([1, 2])})
    with pytest.raises(BadInput, match="damaged"):
        LabelledRows().load({**rows.state(), "row order": np.array([0, 0])})
