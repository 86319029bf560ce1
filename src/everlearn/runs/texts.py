"""Settings as text: strict JSON, and TOML with a table for each part."""

import json
from collections.abc import Mapping
from typing import Any

from everlearn.errors import BadInput
from everlearn.streams.settings import toml_value

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
