"""Where two sets of settings differ, for people."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from everlearn.errors import BadInput, unknown

_OUR_WORDS = {
    "Input should be": "it must be",
    "Unable to parse input string as an integer": "it must be a smaller number",
    "a valid ": "a ",
    "a tuple": "a list",
    "integer": "whole number",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "Tuple should have": "it must have",
    " after validation": "",
    "Field required": "a value is missing",
}


class Settings(BaseModel):
    """A frozen record of documented fields that complains in one sentence."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    kind: ClassVar[str]

    def __init__(self, **settings: Any) -> None:
        _refuse_yes_and_no(type(self), settings)
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise complaint(type(self), error.errors()) from None


def complaint(settings: type[Settings], errors: Iterable[ErrorDetails]) -> BadInput:
    """Pydantic's list of errors as the one sentence that helps most."""
    # Of the errors of a union, one about the value ("too small") says more than "not a list".
    error = min(errors, key=lambda each: each["type"].endswith("_type"))
    name, given = ".".join(map(str, error["loc"][:1])), error["input"]
    if error["type"] == "extra_forbidden":
        return unknown(f"{settings.kind} setting", name, settings.model_fields)
    if error["type"] == "literal_error" and isinstance(given, str):
        return unknown(
            name, given, error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        )
    if error["type"] == "value_error":
        return BadInput(str(error["ctx"]["error"]))
    if error["type"] == "tuple_type" and isinstance(usual := settings.model_fields[name].default, tuple):
        return BadInput(f"{name} is {given!r}; it must be a list, such as {json.dumps(usual)}")
    return BadInput(f"{name} is {given!r}; {_plain(error['msg'])}")


def _refuse_yes_and_no(model: type[Settings], settings: dict[str, Any]) -> None:
    """Pydantic would take true for the number 1; whoever wrote it meant something else."""
    for name, value in settings.items():
        field = model.model_fields.get(name)
        if isinstance(value, bool) and field is not None and "bool" not in str(field.annotation):
            raise BadInput(f"{name} is {value}; it is not a matter of yes or no, give a value")


def _plain(message: str) -> str:
    for theirs, ours in _OUR_WORDS.items():
        message = message.replace(theirs, ours)
    return message.split(", ")[0]


def toml_value(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


FORMAT = 1
"""Raised when records change in a way that older versions cannot read."""
MAX_CHARACTERS = 1_000_000


def check_format(settings: Mapping[str, Any], what: str) -> None:
    """Complain about what a newer everlearn wrote."""
    version = settings.get("format", FORMAT)
    if version != FORMAT:
        ours = f"this everlearn reads format {FORMAT}"
        raise BadInput(f"{what} has format {version!r:.20}, {ours}; use the one that wrote it")


def read_json(text: str, what: str) -> dict[str, Any]:
    """An object in JSON; names given twice, numbers that are none and other follies are refused.

    Example:
        >>> read_json('{"a": 1, "a": 2}', "the spec")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: the spec says 'a' twice; say it once
    """
    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"{what} has {len(text):,} characters; a few lines were expected")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
        if twice:
            raise BadInput(f"{what} says {twice[0]!r:.60} twice; say it once")
        return dict(pairs)

    def no_number(word: str) -> None:
        raise BadInput(f"{what} holds {word}, which is no number; write one")

    try:
        read = json.loads(text, object_pairs_hook=unique, parse_constant=no_number)
    except BadInput:
        raise
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{what} is not JSON: {error}; correct it, or restore it from a copy") from None
    if not isinstance(read, dict):
        raise BadInput(f"{what} is {read!r:.60}; it must be an object with names and values")
    return read


def write_toml(settings: Mapping[str, Any], table: str = "") -> str:
    """Nested settings as TOML, one table for each inner dictionary, without those that are None.

    Example:
        >>> print(write_toml({"epochs": 1, "stream": {"stream": "sprites", "scale": None}}), end="")
        epochs = 1
        <BLANKLINE>
        [stream]
        stream = "sprites"
    """
    said = {name: value for name, value in settings.items() if value is not None}
    inner = {name: value for name, value in said.items() if isinstance(value, dict)}
    lines = [f"{name} = {toml_value(value)}\n" for name, value in said.items() if name not in inner]
    tables = [write_toml(value, f"{table}.{name}".lstrip(".")) for name, value in inner.items()]
    return (f"\n[{table}]\n" if table else "") + "".join([*lines, *tables])


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Field by field, what was and what is.

    Example:
        >>> differences({"seed": 0, "stream": {"image_size": 64}}, {"seed": 0, "stream": {"image_size": 32}})
        ['stream.image_size was 64, is 32']
    """
    old, new = said(there), said(here)
    names = [name for name in {**old, **new} if old.get(name, "unset") != new.get(name, "unset")]
    return [f"{name} was {old.get(name, 'unset')}, is {new.get(name, 'unset')}" for name in names]


def said(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of nested settings that are set, by their dotted names.

    One that is None is left to itself, as it is in records from before there was such a setting.

    Example:
        >>> said({"seed": 0, "stream": {"image_size": 64, "drawn_size": None}})
        {'seed': 0, 'stream.image_size': 64}
    """
    return {name: value for name, value in flat(settings).items() if value is not None}


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names.

    Example:
        >>> flat({"seed": 0, "stream": {"image_size": 64}})
        {'seed': 0, 'stream.image_size': 64}
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found
