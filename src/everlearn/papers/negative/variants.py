"""The paper's variants, by its codes: which learner, replaying what, in which role."""

from collections.abc import Iterator, Mapping
from typing import Any

from everlearn.papers.exhibit import Line
from everlearn.papers.negative.exhibits import NOISES

Settings = Mapping[str, Any]

SOURCES = {"OD": "real", "GD": "generated", "RD": "random"}
ROLES = {"PR": "positive", "NR": "negative"}
REPLAYS = ("PR-OD", "PR-GD", "NR-OD", "NR-GD", "NR-RD")


def replay(code: str) -> dict[str, str]:
    """The settings of gnr behind a code.

    Example:
        >>> replay("NR-GD")
        {'learner.source': 'generated', 'learner.role': 'negative'}
    """
    role, source = code.split("-")
    return {"learner.source": SOURCES[source], "learner.role": ROLES[role]}


def lines(
    scenario: str,
    folder: str,
    *,
    alone: Settings,
    beside: Settings,
    seeds: tuple[int, ...],
    stream: str,
    minutes: float | None = None,
) -> Iterator[Line]:
    """A line for each variant in a scenario.

    Args:
        scenario: nc or nic, the first word of their names.
        folder: of their records.
        alone: settings of AR1, which replays nothing.
        beside: settings of those that replay.
        seeds: each for the stream and for the run.
        stream: the kind of stream.
        minutes: what one seed takes on one core, if that is known.
    """
    more: dict[str, Any] = {"seeds": seeds, "stream": stream, "minutes": minutes}
    yield Line(f"{scenario} none", f"{folder}/{scenario}-none", "ar1", alone, **more)
    for code in REPLAYS:
        settings = {**beside, **replay(code)}
        yield Line(f"{scenario} {code}", f"{folder}/{scenario}-{code.lower()}", "gnr", settings, **more)


def worse(line: Line) -> Iterator[Line]:
    """A line of generated patterns again, at each noise."""
    for noise in NOISES:
        changed = line.changed({"learner.noise": noise}, f"noise-{noise:g}".replace(".", "-"))
        yield Line(
            f"{line.name}, noise {noise:g}",
            changed.folder,
            line.learner,
            changed.settings,
            line.seeds,
            line.stream,
            minutes=line.minutes,
        )


def all_lines(new_classes: Iterator[Line], new_sessions: Iterator[Line]) -> tuple[Line, ...]:
    """Everybody: both scenarios, and the noises of generated patterns in the first."""
    nc = list(new_classes)
    generated = [line for line in nc if line.name.endswith("GD")]
    return (*nc, *new_sessions, *(each for line in generated for each in worse(line)))
