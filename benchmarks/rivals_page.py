"""Tables of docs/rivals.md from stored records: `python -m benchmarks.rivals_page`."""

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import backbone_trials, rival_trials
from benchmarks.page_sections import replace_section
from benchmarks.rivals_cases import CASES, DIGITS, Case, Settings
from benchmarks.rivals_runs import ROOT, scores
from benchmarks.rivals_tuning import chosen, tried

PAGE = ROOT / "docs" / "rivals.md"
BEGIN, END = "<!-- rivals {}: written by python -m benchmarks.rivals_page -->", "<!-- end of rivals {} -->"
BAND = 3.0
"""Tolerated difference from a published result, in points."""


def known_results() -> str:
    """Published results, ours and the difference on Split-MNIST, in Markdown."""
    lines = ["| | published, % | here, % | seeds | gap | |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(beside(case, scores("mnist", case)) for case in CASES)])


def beside(case: Case, ours: list[float]) -> str:
    """A row: published result, our result over seeds, and the difference."""
    published = "" if case.published is None else f"{case.published:g}"
    if not ours:
        return f"| {case.name} | {published} | not run yet | 0 | | |"
    gap, mark = "", ""
    if case.published is not None:
        apart = mean(ours) - case.published
        gap, mark = f"{apart:+.1f}", "within 3" if abs(apart) <= BAND else "**outside**"
    return f"| {case.name} | {published} | {_spread(ours)} | {len(ours)} | {gap} | {mark} |"


def _spread(values: list[float]) -> str:
    spread = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{mean(values):.1f}{spread}"


def fashion() -> str:
    """Results on Split-Fashion, in Markdown."""
    lines = ["| | here, % | seeds |", "|---|---|---|"]
    found = ((case, scores("fashion", case)) for case in CASES)
    return "\n".join([*lines, *(f"| {case.name} | {_spread(s)} | {len(s)} |" for case, s in found if s)])


def settings() -> str:
    """Settings and trials of each case, in Markdown."""
    lines = [
        "| | as published, or common to all | selected on validation images | trials |",
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
    """Source of each result, verification and differences, in Markdown."""
    return "\n".join(["| | source | verification | differences |", "|---|---|---|---|", *_sources()])


def _sources() -> Iterator[str]:
    for case in CASES:
        if case.source is not None:
            yield f"| {case.name} | {case.source.name} | {case.source.known} | {case.differs} |"


def common_settings() -> str:
    """Settings common to all runs."""
    return "\n".join(["```", *(f"{name} = {value}" for name, value in DIGITS.items()), "```"])


TABLES = {
    "known results": known_results,
    "sources": sources,
    "fashion": fashion,
    "settings": settings,
    "alike": common_settings,
    "backbones": backbone_trials.table,
    "trials": rival_trials.table,
}


def with_tables(text: str) -> str:
    """The page with updated tables."""
    for name, made in TABLES.items():
        text = replace_section(text, BEGIN.format(name), END.format(name), made())
    return text


def write(page: Path = PAGE) -> None:
    """Update the page."""
    page.write_text(with_tables(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
