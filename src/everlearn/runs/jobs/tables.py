"""How the file of a sweep is written, and what is said when it is written otherwise."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from everlearn.errors import BadInput, unknown
from everlearn.runs.spec import PARTS
from everlearn.streams.settings import Settings

SHAPES: dict[str, tuple[type, str]] = {
    "learners": (list, 'a list such as ["dcl", "er"]'),
    "streams": (list, 'a list such as ["sprites", "mnist"]'),
    "seeds": (list, "a list such as [0, 1, 2]"),
    "settings": (dict, "a table of settings, such as n_tasks = 20"),
    "grid": (dict, "a table of lists, such as epochs = [1, 5]"),
    "variants": (list, "tables of settings under [[variants]]"),
    "resources": (
        dict,
        "a table of threads, memory (gigabytes) and gpus that each run takes, such as threads = 2",
    ),
    "random": (dict, "a table, such as draws = 5 and epochs = { low = 1, high = 10 }"),
}
"""What stands under each key."""

Dotted = dict[str, Any]
"""Settings by names such as stream.image_size."""


class Entry(Settings):
    """A learner or a stream, with settings of its own if it has any."""

    kind: ClassVar[str] = "entry"

    name: str
    """which one"""
    settings: dict[str, Any] = Field(default_factory=dict)
    """what only it has"""


def check_shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, or a complaint about a key that is unknown or holds the wrong kind of thing."""
    for name in given:
        if name not in SHAPES:
            raise unknown("key of a sweep", name, SHAPES)
    if "learners" not in given:
        raise BadInput(f"a sweep needs learners; write {SHAPES['learners'][1]}")
    for name, value in given.items():
        shape, example = SHAPES[name]
        if not isinstance(value, shape) or (value == [] and name != "variants"):
            raise BadInput(f"{name} is {value!r:.60}; write {example}")
    return dict(given)


def entry(given: Any) -> Any:
    """A learner or a stream, from its name or a table with its name and settings."""
    if isinstance(given, Entry):
        return given
    if isinstance(given, str):
        return {"name": given}
    if isinstance(given, Mapping) and isinstance(given.get("name"), str):
        return {"name": given["name"], "settings": {name: given[name] for name in given if name != "name"}}
    raise BadInput(f'cannot tell what {given!r:.60} is; write "er" or {{ name = "er", memory_size = 500 }}')


def dotted(table: Any) -> Dotted:
    """Settings in the tables of their parts, by dotted names.

    Example:
        >>> dotted({"n_tasks": 20, "stream": {"image_size": 32}})
        {'n_tasks': 20, 'stream.image_size': 32}
    """
    if not isinstance(table, Mapping):
        raise BadInput(f"cannot tell what {table!r:.60} is; write a table of settings, such as n_tasks = 20")
    found: Dotted = {}
    for name, value in table.items():
        inner = name in PARTS and isinstance(value, Mapping)
        found |= {f"{name}.{field}": each for field, each in value.items()} if inner else {name: value}
    return found
