"""How the words of a command line become values."""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput

SPEC_READERS = {".toml": tomllib.loads, ".json": json.loads}
MAX_SPEC_BYTES = 1_000_000
MAX_TASKS = 1_000_000
NUMBER = r"\d{1,15}"
SEVERAL_TASKS = re.compile(f"{NUMBER}(,{NUMBER})*", re.ASCII)
RANGE_OF_TASKS = re.compile(f"({NUMBER})?:{NUMBER}(:{NUMBER})?", re.ASCII)


def read_value(text: str) -> Any:
    """A value as a person writes it: JSON, several values with commas, or plain text.

    Example:
        >>> [read_value(word) for word in ("32", "0.5", "true", "null", "5,8", "blurry", '{"n": 3}')]
        [32, 0.5, True, None, [5, 8], 'blurry', {'n': 3}]
        >>> read_value("[mnist, fashion]")  # what a shell leaves of ["mnist", "fashion"]
        ['mnist', 'fashion']
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise BadInput(
            f"a value of {len(text)} characters is nested too deeply; write it more simply"
        ) from None
    except ValueError:
        is_bracketed = text.startswith("[") and text.endswith("]")
        inside = text[1:-1] if is_bracketed else text
        if (is_bracketed or "," in text) and not set(inside) & set('[]{}"'):
            return [read_value(part.strip()) for part in inside.split(",")]
        return text


def read_assignments(words: Iterable[str], *, such_as: str, implied: str = "") -> dict[str, Any]:
    """Settings written as KEY=VALUE.

    Args:
        words: the settings.
        such_as: an example, for the complaint.
        implied: what a key may begin with, and means if it does not.

    Example:
        >>> read_assignments(["image_size=32", "stream.vertices=5,8"], such_as="a=1", implied="stream.")
        {'image_size': 32, 'vertices': [5, 8]}
    """
    settings: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip().removeprefix(implied).replace("-", "_")
        if not equals or not key:
            raise BadInput(f"--set is {word!r}; write KEY=VALUE, such as {such_as}")
        if key in settings:
            raise BadInput(f"{key!r} is set twice; set it once")
        settings[key] = read_value(value)
    return settings


def read_counts(option: str, text: str, *, such_as: str) -> list[int]:
    """Whole numbers with commas.

    Example:
        >>> read_counts("--new", "10,100", such_as="5")
        [10, 100]
    """
    read = read_value(text)
    counts = read if isinstance(read, list) else [read]
    if not counts or not all(type(n) is int for n in counts):
        raise BadInput(f"{option} is {text!r}; write whole numbers, such as {such_as}")
    return counts


def read_tasks(text: str) -> Sequence[int]:
    """Task numbers as a person writes them: one, several, or a range without its end.

    Example:
        >>> read_tasks("3"), read_tasks("0,7,1000000"), read_tasks("0:10"), read_tasks("0:10:5")
        ([3], [0, 7, 1000000], range(0, 10), range(0, 10, 5))
    """
    tasks: Sequence[int] = ()
    if SEVERAL_TASKS.fullmatch(text):
        tasks = sorted({int(number) for number in text.split(",")})
    elif RANGE_OF_TASKS.fullmatch(text) and not re.search(r":.*:0+$", text):
        tasks = range(*(int(number or 0) for number in text.split(":")))
    if not tasks:
        raise BadInput(
            f"{text!r} names no task; write one number, several such as 0,5,7 or a range such as 0:10"
        )
    if len(tasks) > MAX_TASKS:
        raise BadInput(f"{text!r} names {len(tasks):,} tasks; name at most {MAX_TASKS:,} at a time")
    return tasks


def read_task(text: str) -> int:
    """The number of one task."""
    if not re.fullmatch(NUMBER, text, re.ASCII):
        raise BadInput(f"--task is {text!r}; it must be a whole number from 0 up")
    return int(text)


def read_spec(path: Path) -> dict[str, Any]:
    """The settings in a .toml or .json file."""
    reader = SPEC_READERS.get(check_path(path).suffix.lower())
    if reader is None:
        raise BadInput(f"cannot read settings from {str(path)!r}; give a file that ends in .toml or .json")
    with path.open("rb") as file:
        content = file.read(MAX_SPEC_BYTES + 1)
    if len(content) > MAX_SPEC_BYTES:
        raise BadInput(f"{str(path)!r} is larger than {MAX_SPEC_BYTES:,} bytes; settings are a few lines")
    try:
        settings = reader(content.decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{str(path)!r} is not valid {path.suffix[1:].upper()}: {error}; correct it") from None
    if not isinstance(settings, dict):
        raise BadInput(f"{str(path)!r} holds no named settings; write some, such as image_size = 32")
    return settings


def check_path(path: Path) -> Path:
    """The path itself, or a complaint if no file can have this name."""
    if "\0" in str(path):
        raise BadInput(f"no file can be called {str(path)!r}; leave out the NUL character")
    return path
