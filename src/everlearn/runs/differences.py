"""Where two sets of settings differ, for people."""

from collections.abc import Mapping
from typing import Any


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
