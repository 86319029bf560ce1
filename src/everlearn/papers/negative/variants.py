"""The paper's variants, by its codes: which learner, replaying what, in which role."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from everlearn.papers.exhibit import Line
from everlearn.papers.negative.dial import LEVELS

Settings = Mapping[str, Any]
NOBODY: Mapping[str, Settings] = {}

SOURCES = {"OD": "real", "GD": "generated", "RD": "random"}
ROLES = {"PR": "positive", "NR": "negative"}
FREE = "free"
"""No replay, and nothing that holds the body but small steps, as where patterns are replayed."""
REPLAYS = ("PR-OD", "PR-GD", "NR-OD", "NR-GD", "NR-RD")


def replay(code: str) -> dict[str, str]:
    """The settings of gnr behind a code.

    Example:
        >>> replay("NR-GD")
        {'learner.source': 'generated', 'learner.role': 'negative'}
    """
    if code == FREE:
        return {"learner.source": "none"}
    role, source = code.split("-")
    return {"learner.source": SOURCES[source], "learner.role": ROLES[role]}


def lines(
    scenario: str,
    folder: str,
    *,
    alone: Settings,
    beside: Settings,
    own: Mapping[str, Settings] = NOBODY,
    seeds: tuple[int, ...],
    stream: str,
    minutes: float | None = None,
) -> Iterator[Line]:
    """A line for each variant in a scenario, and for those that replay generated patterns along the dial.

    Args:
        scenario: nc or nic, the first word of their names.
        folder: of their records.
        alone: settings of AR1, which replays nothing.
        beside: settings of those that replay.
        own: further settings of single lines, by their names without the scenario; "none" is AR1.
        seeds: each for the stream and for the run.
        stream: the kind of stream.
        minutes: what one seed takes on one core, if that is known.
    """
    more: dict[str, Any] = {"seeds": seeds, "stream": stream, "minutes": minutes}
    none = {**alone, **own.get("none", {})}
    yield Line(f"{scenario} none", f"{folder}/{scenario}-none", "ar1", none, **more)
    for code in (FREE, *REPLAYS):
        settings = {**beside, **replay(code), **own.get(code, {})}
        line = Line(f"{scenario} {code}", f"{folder}/{scenario}-{code.lower()}", "gnr", settings, **more)
        yield line
        if code.endswith("GD"):
            yield from _dialled(line, own)


def _dialled(line: Line, own: Mapping[str, Settings]) -> Iterator[Line]:
    """A line again with better and with worse patterns, and with settings of its own there."""
    for level, made in LEVELS.items():
        name = f"{line.name}, {level}"
        changed = line.changed({**made, **own.get(name.partition(" ")[2], {})}, re.sub(r"\W", "-", level))
        yield replace(changed, name=name, minutes=line.minutes)
