import json
import math
from pathlib import Path

import numpy as np
import pytest
from cyclopts import App, CoercionError
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from everlearn.cli.arguments import (
    Whole,
    check_path,
    read_assignments,
    read_counts,
    read_image,
    read_tasks,
    read_value,
)
from everlearn.errors import BadInput

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_json_is_read_as_json(value: object) -> None:
    assert read_value(json.dumps(value)) == value


@given(st.text())
def test_any_text_is_a_json_value(text: str) -> None:
    value = read_value(text)
    assert repr(read_value(json.dumps(value))) == repr(value)


def test_commas_make_a_list() -> None:
    assert read_value("5, 8") == [5, 8]
    assert read_value("moving-mnist,mnist") == ["moving-mnist", "mnist"]
    assert read_value("[moving-mnist, mnist]") == ["moving-mnist", "mnist"]  # the shell removes quotes
    assert read_value("[mnist]") == ["mnist"]
    assert read_value("[mnist") == "[mnist"


def test_non_finite_numbers_are_left_to_the_settings() -> None:
    assert math.isnan(read_value("NaN"))
    assert math.isinf(read_value("1e309"))


def test_deep_nesting_is_rejected() -> None:
    with pytest.raises(BadInput, match="nested too deeply"):
        read_value("[" * 200_000)


def test_section_of_a_key_may_be_omitted() -> None:
    words = ["stream.image_size=32", "radial-noise=0.1", "name=a=b"]
    expected = {"image_size": 32, "radial_noise": 0.1, "name": "a=b"}
    assert read_assignments(words, example="a=1", section="stream.") == expected
    assert "stream.image_size" in read_assignments(words, example="a=1")


@pytest.mark.parametrize("words", [["image_size"], ["=3"], [""], ["a=1", "stream.a=2"]])
def test_invalid_assignments_are_rejected(words: list[str]) -> None:
    with pytest.raises(BadInput, match=r"write KEY=VALUE, such as a=1$|twice"):
        read_assignments(words, example="a=1", section="stream.")


@pytest.mark.parametrize(("text", "counts"), [("7", [7]), ("10,100", [10, 100]), ("[2, 3]", [2, 3])])
def test_counts(text: str, counts: list[int]) -> None:
    assert read_counts("--new", text, example="5") == counts


@pytest.mark.parametrize("text", ["", "ten", "1.5", "1,", "[]", "true", "null", "{}"])
def test_invalid_counts_are_rejected(text: str) -> None:
    with pytest.raises(BadInput, match=r"^--new is '.*'; write whole numbers, such as 10,100$"):
        read_counts("--new", text, example="10,100")


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


INVALID_TASKS = ["", ":", "-1", "5:", "3:3", "9:2", "0:5:0", "a", "1.5", "0:9:", "1,", "٣", "0:1e3", " 1"]


@pytest.mark.parametrize("text", [*INVALID_TASKS, "9" * 20])
def test_invalid_tasks_are_rejected(text: str) -> None:
    with pytest.raises(BadInput, match="selects no task"):
        read_tasks(text)


def test_nul_in_a_path_is_rejected() -> None:
    with pytest.raises(BadInput, match="NUL"):
        check_path(Path("a\0b"))


def test_image_is_scaled_to_fit(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 20), (255, 0, 0, 128)).save(tmp_path / "wide.png")
    gray, colour = (read_image(tmp_path / "wide.png", shape) for shape in ((16, 16), (16, 16, 3)))
    assert (gray.shape, colour.shape) == ((16, 16), (16, 16, 3))
    np.testing.assert_array_equal(colour[8, 8], (128, 0, 0))
    assert gray[0, 8] == 0


app = App()


@app.default
def echo(*, number: Whole = 7, optional: Whole | None = None) -> tuple[int, int | None]:
    return number, optional


def parsed(*words: str) -> object:
    return app(words, exit_on_error=False, print_error=False, result_action="return_value")


def test_whole_numbers_are_read_exactly() -> None:
    assert parsed() == (7, None)
    assert parsed("--number", "12", "--optional", "-3") == (12, -3)
    assert parsed("--number", str(2**80)) == (2**80, None)


@pytest.mark.parametrize("word", ["1.5", "30.0", "1e3", "", "many", "nan", "0x10"])
@pytest.mark.parametrize("option", ["--number", "--optional"])
def test_other_numbers_are_not_rounded(option: str, word: str) -> None:
    with pytest.raises(CoercionError):
        parsed(option, word)
