"""Result tables of README.md and docs/benchmarks.md: `python -m benchmarks.readme`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import dcl_page, network_page, results_page
from benchmarks.places import between
from benchmarks.processors import REFERENCE, RESULTS, kinds
from benchmarks.table import Row

ROOT = Path(__file__).parent.parent
README, PAGE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
SUMMARY = "<!-- summary: written by python -m benchmarks.readme -->", "<!-- end of summary -->"
FIGURES = "<!-- figures: written by python -m benchmarks.readme -->", "<!-- end of figures -->"

SECTIONS = {
    "render": "rendering",
    "shapes": "shape generation",
    "accuracy": "rendering error against 16 x 16 supersampling",
    "stream": "stream",
    "cold_start": "start-up",
    "steps": "training step",
    "lookup": "nearest-exemplar search",
    "answers": "answers of dcl",
    "threads": "run beside other programs",
    "erase": "erasing a class",
}
"""Benchmarks that have goals, and their titles."""
DCL = (
    "accuracy on all tasks seen, after 500 tasks",
    "one-shot, 1,000 new classes alone",
    "open set: area under the ROC curve",
    "accuracy after 5,000 tasks (50,000 classes)",
)
PEERS = {
    "render": ("ours 256 px gray uint8 / peer",),
    "shapes": ("ours outlines, 2000 at a time / peer",),
    "steps": ("step of naive / bare PyTorch loop",),
}
"""Rows of the summary: results of DCL, and of each benchmark."""


def summary() -> str:
    """The most important results, in Markdown."""
    lines = ["| | measured |", "|---|---|"]
    lines += [f"| `dcl`: {row.what} | {_value(row)} |" for row in dcl_page.rows() if row.what in DCL]
    lines += network_page.summary()
    for name, wanted in PEERS.items():
        lines += [
            f"| {SECTIONS[name]}: {row['what']} | {_number(row)} |"
            for row in _rows(name)
            if row["what"] in wanted
        ]
    return "\n".join([*lines, *results_page.counts()])


def table() -> str:
    """Every benchmark with a goal, in Markdown, with a column for each kind of processor."""
    names = [f"`{kind}`" for kind in kinds()]
    lines = [f"| | | {' | '.join(names)} | goal |", "|---" * (3 + len(names)) + "|"]
    for name, title in SECTIONS.items():
        found = {kind: {row["what"]: row for row in _rows(name, kind)} for kind in kinds()}
        goals = {
            what: row for rows in found.values() for what, row in rows.items() if row["goal"] is not None
        }
        lines += [
            _line(title, row, [each.get(what) for each in found.values()]) for what, row in goals.items()
        ]
    return "\n".join(lines)


def _rows(name: str, kind: str = REFERENCE) -> Iterator[dict[str, Any]]:
    path = RESULTS / kind / f"{name}.json"
    if path.exists():
        yield from json.loads(path.read_text())["rows"]


def _line(title: str, row: dict[str, Any], measured: list[dict[str, Any] | None]) -> str:
    sign = "at most" if row["at_most"] else "at least"
    numbers = " | ".join("" if each is None else _number(each) for each in measured)
    return f"| {title} | {row['what']} | {numbers} | {sign} {row['goal']:g} |"


def _number(row: dict[str, Any]) -> str:
    space = "" if row["unit"] == "x" else " "
    spread = "" if row["spread"] is None else f" ({row['spread'][0]:,.3g} to {row['spread'][1]:,.3g})"
    return f"{row['value']:,.3g}{space}{row['unit']}{spread}"


def _value(row: Row) -> str:
    spread = f" ({row.spread[0]:.4g} to {row.spread[1]:.4g} over seeds)" if row.spread else ""
    return f"{row.value:.4g}{spread}"


def with_tables(path: Path) -> str:
    """A page with its tables brought up to date."""
    text = path.read_text("utf-8")
    return between(text, *SUMMARY, summary()) if path == README else between(text, *FIGURES, table())


if __name__ == "__main__":
    for path in (README, PAGE):
        path.write_text(with_tables(path), "utf-8")
