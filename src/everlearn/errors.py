"""Errors about user input, name suggestions and optional imports."""

import difflib
import importlib
from collections.abc import Iterable
from numbers import Integral
from types import ModuleType
from typing import Any

MAX_NAMES = 12
"""Names listed in an error message."""


class BadInput(ValueError):
    """Input that cannot be used; the message states the value, the reason and what to do.

    Example:
        >>> import everlearn
        >>> try:
        ...     everlearn.streams.build({"stream": "sprits"})
        ... except everlearn.BadInput as error:
        ...     print(error)
        unknown stream 'sprits'; did you mean 'sprites'?
    """


class Notice(UserWarning):
    """A warning for users, which the command line prints as one line."""


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """The error for an unknown name, with the closest known name.

    Example:
        >>> print(unknown("stream", "sprits", ["sprites", "mnist"]))
        unknown stream 'sprits'; did you mean 'sprites'?
        >>> print(unknown("stream", "qqq", ["sprites", "mnist"]))
        unknown stream 'qqq'; known are 'mnist', 'sprites'
    """
    names = sorted(known)
    by_lowercase = {each.lower(): each for each in names}
    closest = difflib.get_close_matches(name.lower(), by_lowercase, n=1)
    if closest:
        return BadInput(f"unknown {kind} {name!r}; did you mean {by_lowercase[closest[0]]!r}?")
    rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return BadInput(f"unknown {kind} {name!r}; known are {', '.join(map(repr, names[:MAX_NAMES]))}{rest}")


def check_range(name: str, value: Any, low: float, high: float) -> None:
    """Raise unless low <= value <= high; NaN and values that are not numbers are out of range."""
    try:
        is_inside = low <= value <= high
    except TypeError:
        is_inside = False
    if not is_inside:
        raise BadInput(f"{name} is {value}; it must be between {low} and {high}")


def is_integer(value: object) -> bool:
    """Whether a value is an integer of Python or numpy; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def import_optional(module: str, install: str) -> ModuleType:
    """Import an optional dependency, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise BadInput(f"this needs {module}, which is not installed; try: {install}") from None
