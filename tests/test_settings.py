from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.settings import (
    MAX_BYTES,
    Settings,
    differences,
    from_dotted,
    read_json,
    read_settings,
    read_toml,
    to_dotted,
    write_toml,
)

NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.booleans() | st.integers(-(2**60), 2**60) | st.text() | st.lists(st.floats(-9, 9))


class Example(Settings):
    kind: ClassVar[str] = "example"

    size: int = 1
    """a number"""
    flag: bool = False
    """a switch"""


@settings(max_examples=50)
@given(st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES)))
def test_toml_round_trip(nested: dict[str, Any]) -> None:
    assert read_toml(write_toml(nested), "the text") == nested


@settings(max_examples=50)
@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES))
def test_dotted_round_trip(own: dict[str, Any], section: dict[str, Any]) -> None:
    nested = {**own, "section": section}
    assert from_dotted(to_dotted(nested, ["section"]), ["section"]) == nested


def test_a_section_is_not_a_value() -> None:
    with pytest.raises(BadInput, match=r"stream has settings of its own; write stream\.NAME"):
        from_dotted({"stream": 3}, ["stream"])


def test_none_equals_a_missing_setting() -> None:
    assert differences({"a": 1, "b": {"c": None}}, {"a": 1}) == []
    assert differences({"a": 1}, {"b": 2}) == ["a was 1, is unset", "b was unset, is 2"]


@pytest.mark.parametrize("given", [True, False])
def test_boolean_is_not_a_number(given: bool) -> None:
    assert Example(flag=given).flag is given
    with pytest.raises(BadInput, match=f"size is {given}; it must be a value other than true and false"):
        Example(size=given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the text is not valid JSON"),
        ("[" * 100_000, "the text is not valid JSON"),
        ("[1]", "it must be an object with names and values"),
        ('{"a": {"b": 1, "b": 1}}', "the text sets 'b' twice"),
        ('{"a": NaN}', "contains NaN"),
        (" " * (MAX_BYTES + 1), "longer than 1,000,000 characters"),
    ],
)
def test_invalid_json_is_rejected(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_json(text, "the text")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", b"a: 1", "ends in .toml or .json"),
        ("a.toml", b"a = ", "not valid TOML"),
        ("a.json", b"\xff\xfe", "not valid JSON"),
        ("a.toml", b" " * (MAX_BYTES + 1), "longer than 1,000,000 characters"),
    ],
)
def test_invalid_settings_files_are_rejected(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        read_settings(tmp_path / name)


def test_settings_files(tmp_path: Path) -> None:
    for name, text in (("a.toml", "image_size = 32"), ("b.JSON", '{"image_size": 32}')):
        (tmp_path / name).write_text(text)
        assert read_settings(tmp_path / name) == {"image_size": 32}
