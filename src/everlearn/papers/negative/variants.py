"""The paper's variants, by its codes: which learner, replaying what, in which role."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from everlearn.papers.exhibit import Line
from everlearn.papers.negative.dial import LEVELS, ROLES

Settings = Mapping[str, Any]
NOBODY: Mapping[str, Settings] = {}

SOURCES = {"OD": "real", "GD": "generated", "RD": "random"}
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
        own: further settings of single lines, by their names without the scenario; "none" is AR1. Lines along
            the dial begin with those of their variant.
        seeds: each for the stream and for the run.
        stream: the kind of stream.
        minutes: what one seed takes on one core, if that is known.
    """

    def line(code: str, learner: str, settings: Settings) -> Line:
        where = f"{folder}/{scenario}-{_word(code)}"
        whole = {**settings, **own.get(code, {})}
        return Line(f"{scenario} {code}", where, learner, whole, seeds, stream, minutes=minutes)

    yield line("none", "ar1", alone)
    for code in (FREE, *REPLAYS):
        variant = line(code, "gnr", {**beside, **replay(code)})
        yield variant
        if code.endswith("GD"):
            for level, made in LEVELS.items():
                yield line(f"{code}, {level}", "gnr", {**variant.settings, **made})


def _word(name: str) -> str:
    """A name as part of a folder's.

    Example:
        >>> _word("PR-GD, worn 0.5")
        'pr-gd-worn-0-5'
    """
    return "-".join(re.findall(r"\w+", name.lower()))
