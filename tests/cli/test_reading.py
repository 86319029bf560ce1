import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.cli.arguments import (
    check_path,
    read_assignments,
    read_counts,
    read_tasks,
    read_value,
)
from everlearn.errors import BadInput

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
def test_a_json_value_means_itself(value: object) -> None:
    assert read_value(json.dumps(value)) == value


@given(st.text())
def test_any_text_is_a_plain_value(text: str) -> None:
    value = read_value(text)
    assert repr(read_value(json.dumps(value))) == repr(value)


def test_commas_make_a_list_without_brackets() -> None:
    assert read_value("5, 8") == [5, 8]
    assert read_value("moving-mnist,mnist") == ["moving-mnist", "mnist"]
    assert read_value("[moving-mnist, mnist]") == ["moving-mnist", "mnist"]  # quotes lost to the shell
    assert read_value("[mnist]") == ["mnist"]
    assert read_value("[mnist") == "[mnist"


def test_numbers_that_are_not_numbers_are_left_for_the_settings_to_refuse() -> None:
    assert math.isnan(read_value("NaN"))
    assert math.isinf(read_value("1e309"))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadInput, match="nested too deeply"):
        read_value("[" * 200_000)


def test_a_key_may_carry_the_name_of_its_room() -> None:
    words = ["stream.image_size=32", "radial-noise=0.1", "name=a=b"]
    read = {"image_size": 32, "radial_noise": 0.1, "name": "a=b"}
    assert read_assignments(words, such_as="a=1", implied="stream.") == read
    assert "stream.image_size" in read_assignments(words, such_as="a=1")


@pytest.mark.parametrize("words", [["image_size"], ["=3"], [""], ["a=1", "stream.a=2"]])
def test_an_assignment_needs_a_key_and_a_value_once(words: list[str]) -> None:
    with pytest.raises(BadInput, match=r"write KEY=VALUE, such as a=1$|twice"):
        read_assignments(words, such_as="a=1", implied="stream.")


@pytest.mark.parametrize(("text", "counts"), [("7", [7]), ("10,100", [10, 100]), ("[2, 3]", [2, 3])])
def test_counts(text: str, counts: list[int]) -> None:
    assert read_counts("--new", text, such_as="5") == counts


@pytest.mark.parametrize("text", ["", "ten", "1.5", "1,", "[]", "true", "null", "{}"])
def test_counts_that_are_none(text: str) -> None:
    with pytest.raises(BadInput, match=r"^--new is '.*'; write whole numbers, such as 10,100$"):
        read_counts("--new", text, such_as="10,100")


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("0", [0]),
        ("7,3,7", [3, 7]),
        ("2:5", [2, 3, 4]),
        (":3", [0, 1, 2]),
        ("0:10:4", [0, 4, 8]),
        ("007", [7]),
    ],
)
def test_tasks(text: str, tasks: list[int]) -> None:
    assert list(read_tasks(text)) == tasks


@pytest.mark.parametrize(
    "text",
    ["", ":", "-1", "5:", "3:3", "9:2", "0:5:0", "a", "1.5", "0:9:", "1,", "٣", "0:1e3", " 1", "9" * 20],
)
def test_tasks_that_are_none(text: str) -> None:
    with pytest.raises(BadInput, match="names no task"):
        read_tasks(text)


def test_no_file_has_a_nul_in_its_name() -> None:
    with pytest.raises(BadInput, match="NUL"):
        check_path(Path("a\0b"))
