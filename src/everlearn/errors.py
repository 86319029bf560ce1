"""Libraries that not everybody needs."""

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

MOST_NAMED = 12
"""Names listed in a complaint; more than these nobody reads."""


class BadInput(ValueError):
    """Something the user gave cannot be used; the message says what, why and what to try.

    Example:
        >>> raise BadInput("image_size is -3; it must be between 16 and 512")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: image_size is -3; it must be between 16 and 512
    """


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """The complaint about a name nobody knows, with the nearest one that exists.

    Example:
        >>> print(unknown("stream", "sprits", ["sprites", "mnist"]))
        unknown stream 'sprits'; did you mean 'sprites'?
        >>> print(unknown("stream", "qqq", ["sprites", "mnist"]))
        unknown stream 'qqq'; known are 'mnist', 'sprites'
    """
    options = sorted(known)
    by_letters = {each.lower(): each for each in options}
    near = difflib.get_close_matches(name.lower(), by_letters, n=1)
    if near:
        return BadInput(f"unknown {kind} {name!r}; did you mean {by_letters[near[0]]!r}?")
    rest = f" and {len(options) - MOST_NAMED} more" if len(options) > MOST_NAMED else ""
    return BadInput(f"unknown {kind} {name!r}; known are {', '.join(map(repr, options[:MOST_NAMED]))}{rest}")


def check_range(name: str, value: Any, low: float, high: float) -> None:
    """Complain unless low <= value <= high (a NaN is never in range).

    Example:
        >>> check_range("similarity", 1.5, 0, 1)
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: similarity is 1.5; it must be between 0 and 1
    """
    if not low <= value <= high:
        raise BadInput(f"{name} is {value}; it must be between {low} and {high}")


def need(module: str, install: str) -> ModuleType:
    """A library, imported only now, or a sentence that says how to get it.

    Example:
        >>> need("json", "").__name__
        'json'
        >>> need("pyharrow", "pip install 'everlearn[export]'")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: this needs pyharrow, which is not installed; try: pip install ...
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise BadInput(f"this needs {module}, which is not installed; try: {install}") from None
