"""Settings: the pydantic base class, dotted names, and JSON and TOML files.

Settings are nested mappings. A dotted name such as ``stream.image_size`` addresses a value in a section.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from everlearn.errors import BadInput, unknown

FORMAT = 1
"""Version of the files of a record; increased when older versions cannot read them."""
MAX_BYTES = 1_000_000
UNSET = "unset"

_REPHRASED = {
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
"""Phrases of pydantic's messages and their replacements."""


class Settings(BaseModel):
    """Immutable, documented settings; an invalid value raises `BadInput` with one sentence.

    Attributes:
        kind: what is configured, for error messages.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    kind: ClassVar[str]

    def __init__(self, **settings: Any) -> None:
        _reject_booleans(type(self), settings)
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise validation_error(type(self), error.errors()) from None


def describe(settings: type[Settings]) -> dict[str, dict[str, Any]]:
    """Default and meaning of each setting, as JSON values."""
    defaults = settings.model_construct().model_dump(mode="json", warnings=False)
    return {
        name: {"default": defaults.get(name), "meaning": field.description or ""}
        for name, field in settings.model_fields.items()
    }


def first_line(docstring: str | None) -> str:
    """The first line of a docstring."""
    return (docstring or "").strip().partition("\n")[0]


def validation_error(settings: type[Settings], errors: Iterable[ErrorDetails]) -> BadInput:
    """The most specific of pydantic's errors as one sentence."""
    # Of the errors of a union, one about the value ("too small") is more specific than "not a list".
    error = min(errors, key=lambda each: each["type"].endswith("_type"))
    name, given = ".".join(map(str, error["loc"][:1])), error["input"]
    if error["type"] == "extra_forbidden":
        return unknown(f"{settings.kind} setting", name, settings.model_fields)
    if error["type"] == "literal_error" and isinstance(given, str):
        options = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return unknown(name, given, options)
    if error["type"] == "value_error":
        return BadInput(str(error["ctx"]["error"]))
    if error["type"] == "tuple_type" and isinstance(default := settings.model_fields[name].default, tuple):
        return BadInput(f"{name} is {given!r}; it must be a list, such as {json.dumps(default)}")
    message = error["msg"]
    for phrase, replacement in _REPHRASED.items():
        message = message.replace(phrase, replacement)
    return BadInput(f"{name} is {given!r}; {message.split(', ')[0]}")


def _reject_booleans(model: type[Settings], settings: dict[str, Any]) -> None:
    """Raise if a boolean is given for a number; pydantic would convert True to 1."""
    for name, value in settings.items():
        field = model.model_fields.get(name)
        if isinstance(value, bool) and field is not None and "bool" not in str(field.annotation):
            raise BadInput(f"{name} is {value}; it must be a value other than true and false")


def to_dotted(settings: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """The values of sections by their dotted names.

    Example:
        >>> to_dotted({"epochs": 1, "stream": {"scale": {"low": 0.5, "high": 1.0}}}, sections=["stream"])
        {'epochs': 1, 'stream.scale': {'low': 0.5, 'high': 1.0}}
    """
    dotted: dict[str, Any] = {}
    for name, value in settings.items():
        is_section = name in sections and isinstance(value, Mapping)
        dotted |= {f"{name}.{key}": each for key, each in value.items()} if is_section else {name: value}
    return dotted


def from_dotted(settings: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """The inverse of `to_dotted`; every section is present in the result."""
    nested: dict[str, Any] = {section: {} for section in sections}
    for name, value in settings.items():
        section, dot, key = name.partition(".")
        if dot and section not in sections:
            raise unknown("section", section, sections)
        if name in sections:
            raise BadInput(f"{name} has settings of its own; write {name}.NAME")
        (nested[section] if dot else nested)[key or name] = value
    return nested


def flatten(settings: Mapping[str, Any], prefix: str = "", *, keep_none: bool = True) -> dict[str, Any]:
    """All values by their dotted names, at any depth, with a prefix.

    Records that are older than a setting lack it; without `keep_none` they equal records with None.
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.", keep_none=keep_none)
        elif keep_none or value is not None:
            flat[f"{prefix}{name}"] = value
    return flat


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One text such as "stream.image_size was 64, is 32" per changed setting; None equals a missing one."""
    before, after = flatten(old, keep_none=False), flatten(new, keep_none=False)
    pairs = {name: (before.get(name, UNSET), after.get(name, UNSET)) for name in {**before, **after}}
    return [f"{name} was {was}, is {now}" for name, (was, now) in pairs.items() if was != now]


def check_format(settings: Mapping[str, Any], source: str) -> None:
    """Raise if a newer version of everlearn wrote these settings."""
    version = settings.get("format", FORMAT)
    if version != FORMAT:
        raise BadInput(
            f"{source} has format {version!r:.20}, this everlearn reads format {FORMAT}; "
            "use the version that wrote it"
        )


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a .toml or .json file."""
    reader, source = {".toml": read_toml, ".json": read_json}.get(path.suffix.lower()), repr(str(path))
    if reader is None:
        raise BadInput(f"cannot read settings from {source}; give a file that ends in .toml or .json")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    _check_length(content, source)
    try:
        return reader(content.decode(), source)
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not valid {path.suffix[1:].upper()}: {error}; correct it") from None


def read_json(text: str, source: str) -> dict[str, Any]:
    """A JSON object; duplicate names and infinite or NaN numbers are errors, which name the source.

    Example:
        >>> read_json('{"a": 1, "a": 2}', "the spec")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: the spec sets 'a' twice; set it once
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name, n in Counter(name for name, _ in pairs).items():
            if n > 1:
                raise BadInput(f"{source} sets {name!r:.60} twice; set it once")
        return dict(pairs)

    def not_finite(constant: str) -> None:
        raise BadInput(f"{source} contains {constant}; numbers must be finite")

    _check_length(text, source)
    try:
        settings = json.loads(text, object_pairs_hook=unique, parse_constant=not_finite)
    except BadInput:
        raise
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{source} is not valid JSON: {error}; correct it, or restore it from a copy"
        ) from None
    if not isinstance(settings, dict):
        raise BadInput(f"{source} is {settings!r:.60}; it must be an object with names and values")
    return settings


def read_toml(text: str, source: str) -> dict[str, Any]:
    """The settings in TOML; `source` is for error messages."""
    _check_length(text, source)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{source} is not valid TOML: {error}; correct it") from None


def _check_length(text: str | bytes, source: str) -> None:
    if len(text) > MAX_BYTES:
        raise BadInput(f"{source} is longer than {MAX_BYTES:,} characters; settings are a few lines")


def write_toml(settings: Mapping[str, Any], table: str = "") -> str:
    """Nested settings as TOML, one table per section, without None."""
    given = {name: value for name, value in settings.items() if value is not None}
    sections = {name: value for name, value in given.items() if isinstance(value, dict)}
    lines = [f"{name} = {toml_value(value)}\n" for name, value in given.items() if name not in sections]
    tables = [write_toml(value, f"{table}.{name}".lstrip(".")) for name, value in sections.items()]
    return (f"\n[{table}]\n" if table else "") + "".join([*lines, *tables])


def toml_value(value: Any) -> str:
    """A plain value in TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
