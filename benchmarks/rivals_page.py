"""The rivals' tables in docs/rivals.md, from the kept records: `python -m benchmarks.rivals_page`."""

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.rivals_cases import CASES, DIGITS, Case, Settings
from benchmarks.rivals_runs import ROOT, scores
from benchmarks.rivals_tuning import chosen, tried

PAGE = ROOT / "docs" / "rivals.md"
BEGIN, END = "<!-- rivals {}: written by python -m benchmarks.rivals_page -->", "<!-- end of rivals {} -->"
BAND = 3.0
"""Points by which ours may differ from what was published."""


def known_results() -> str:
    """Published, ours and the gap on Split-MNIST, in Markdown."""
    lines = ["| | published, % | here, % | seeds | gap | |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(beside(case, scores("mnist", case)) for case in CASES)])


def beside(case: Case, ours: list[float]) -> str:
    """A line: what was published, what every seed reached here, and how far that is apart."""
    published = "" if case.published is None else f"{case.published:g}"
    if not ours:
        return f"| {case.name} | {published} | not played yet | 0 | | |"
    gap, mark = "", ""
    if case.published is not None:
        apart = mean(ours) - case.published
        gap, mark = f"{apart:+.1f}", "within 3" if abs(apart) <= BAND else "**outside**"
    return f"| {case.name} | {published} | {_spread(ours)} | {len(ours)} | {gap} | {mark} |"


def _spread(values: list[float]) -> str:
    spread = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{mean(values):.1f}{spread}"


def fashion() -> str:
    """Ours on Split-Fashion, in Markdown."""
    lines = ["| | here, % | seeds |", "|---|---|---|"]
    found = ((case, scores("fashion", case)) for case in CASES)
    return "\n".join([*lines, *(f"| {case.name} | {_spread(s)} | {len(s)} |" for case, s in found if s)])


def settings() -> str:
    """How each was played, and what was tried, in Markdown."""
    lines = [
        "| | as published, or alike for all | chosen on validation images | tried |",
        "|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_settings, CASES)])


def _settings(case: Case) -> str:
    own = {name: value for name, value in case.settings.items() if name not in case.grid}
    rows = [row for row in tried().get(case.name, []) if row["settings"] in list(case.choices())]
    trials = "; ".join(f"{_words(row['settings'])}: {row['validation']:.1f}" for row in rows)
    return f"| {case.name} | {_words(own)} | {_words(chosen(case)) if rows else ''} | {trials} |"


def _words(chosen: Settings) -> str:
    return ", ".join(f"{name.removeprefix('learner.')} {_value(value)}" for name, value in chosen.items())


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def sources() -> str:
    """Where each figure stands, how we know it, and what is not alike, in Markdown."""
    return "\n".join(["| | where | known to us | not alike |", "|---|---|---|---|", *_sources()])


def _sources() -> Iterator[str]:
    for case in CASES:
        if case.source is not None:
            yield f"| {case.name} | {case.source.name} | {case.source.known} | {case.differs} |"


def alike() -> str:
    """What all runs have in common, as `--set` has it."""
    return "\n".join(["```", *(f"{name} = {value}" for name, value in DIGITS.items()), "```"])


TABLES = {
    "known results": known_results,
    "sources": sources,
    "fashion": fashion,
    "settings": settings,
    "alike": alike,
}


def with_tables(text: str) -> str:
    """The page with its tables brought up to date."""
    for name, made in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name)
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{made()}\n{end}{rest.split(end)[1]}"
    return text


def write(page: Path = PAGE) -> None:
    """Bring the page up to date."""
    page.write_text(with_tables(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
