"""Result tables of README.md and docs/benchmarks.md: `python -m benchmarks.readme`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import dcl_page, network_page, results_page
from benchmarks.bench_learners import BEFORE
from benchmarks.page_sections import replace_section
from benchmarks.processors import REFERENCE, RESULTS, kinds
from benchmarks.table import Row

ROOT = Path(__file__).parent.parent
README, PAGE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
SUMMARY = "<!-- summary: written by python -m benchmarks.readme -->", "<!-- end of summary -->"
FIGURES = "<!-- figures: written by python -m benchmarks.readme -->", "<!-- end of figures -->"
SPEEDS = "<!-- speeds: written by python -m benchmarks.readme -->", "<!-- end of speeds -->"
LEARNERS = "<!-- learners: written by python -m benchmarks.readme -->", "<!-- end of learners -->"

SECTIONS = {
    "render": "rendering",
    "shapes": "shape generation",
    "accuracy": "rendering error against 16 x 16 supersampling",
    "stream": "stream",
    "cold_start": "start-up",
    "steps": "training step",
    "training": "training of er, one core",
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
    "render": "ours 256 px gray uint8 / peer",
    "shapes": "ours outlines, 2000 at a time / peer",
    "steps": "step of naive / bare PyTorch loop",
}
"""Rows of the summary: results of DCL, and one of each of some benchmarks."""


def summary() -> str:
    """The most important results, in Markdown."""
    lines = ["| | measured |", "|---|---|"]
    lines += [f"| `dcl`: {row.what} | {_value(row)} |" for row in dcl_page.rows() if row.what in DCL]
    lines += network_page.summary()
    lines += [f"| {SECTIONS[name]}: {what} | {_over_kinds(name, what)} |" for name, what in PEERS.items()]
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


def speeds() -> str:
    """Images per second, and shares of the memory bandwidth, with a column for each kind of processor."""
    lines = [f"| | {' | '.join(f'`{kind}`' for kind in kinds())} |", "|---" * (1 + len(kinds())) + "|"]
    for name in ("render", "training"):
        found = [{row["what"]: row for row in _rows(name, kind)} for kind in kinds()]
        wanted = dict.fromkeys(
            what
            for rows in found
            for what, row in rows.items()
            if row["unit"] == "images/s" or "share of" in what
        )
        for what in wanted:
            numbers = (_number(rows[what]) if what in rows else "" for rows in found)
            lines.append(f"| {what} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def learners() -> str:
    """Images per second of each learner now and before, in Markdown, for each kind of processor."""
    lines = []
    for kind in kinds():
        speed = {row["what"]: row["value"] for row in _rows("learners", kind)}
        if speed:
            lines += [f"| `{kind}` | images/s | before | |", "|---|---|---|---|"]
        for what in (each for each in speed if not each.endswith(BEFORE)):
            before = speed.get(what + BEFORE)
            ratio = "" if before is None else f"{speed[what] / before:.2f}x"
            old = "" if before is None else f"{before:,.0f}"
            lines.append(f"| {what} | {speed[what]:,.0f} | {old} | {ratio} |")
    return "\n".join(lines)


def _over_kinds(name: str, what: str) -> str:
    """The smallest and the largest measurement over the kinds of processor."""
    rows = [row for kind in kinds() for row in _rows(name, kind) if row["what"] == what]
    low, high = (f"{choose(row['value'] for row in rows):.3g}{rows[0]['unit']}" for choose in (min, max))
    return f"{low} to {high} on {len(rows)} kinds of processor"


def _rows(name: str, kind: str = REFERENCE) -> Iterator[dict[str, Any]]:
    path = RESULTS / kind / f"{name}.json"
    if path.exists():
        yield from json.loads(path.read_text())["rows"]


def _line(title: str, row: dict[str, Any], measured: list[dict[str, Any] | None]) -> str:
    sign = "at most" if row["at_most"] else "at least"
    numbers = " | ".join("" if each is None else _number(each) for each in measured)
    return f"| {title} | {row['what']} | {numbers} | {sign} {row['goal']:g} |"


def _number(row: dict[str, Any]) -> str:
    if row["unit"] == "images/s":
        return f"{float(format(row['value'], '.3g')):,.0f} images/s"
    space = "" if row["unit"] == "x" else " "
    spread = "" if row["spread"] is None else f" ({row['spread'][0]:,.3g} to {row['spread'][1]:,.3g})"
    return f"{row['value']:,.3g}{space}{row['unit']}{spread}"


def _value(row: Row) -> str:
    spread = f" ({row.spread[0]:.4g} to {row.spread[1]:.4g} over seeds)" if row.spread else ""
    return f"{row.value:.4g}{spread}"


def with_tables(path: Path) -> str:
    """A page with updated tables."""
    text = path.read_text("utf-8")
    if path == README:
        return replace_section(text, *SUMMARY, summary())
    text = replace_section(replace_section(text, *FIGURES, table()), *SPEEDS, speeds())
    return replace_section(text, *LEARNERS, learners())


if __name__ == "__main__":
    for path in (README, PAGE):
        path.write_text(with_tables(path), "utf-8")
