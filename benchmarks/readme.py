"""The table of figures in the README, written from the kept results: `python -m benchmarks.readme`."""

import json
from pathlib import Path
from typing import Any

from benchmarks.places import between

README = Path(__file__).parent.parent / "README.md"
RESULTS = Path(__file__).parent / "results"
BEGIN, END = "<!-- figures: written by python -m benchmarks.readme -->", "<!-- end of figures -->"

SHOWN = {
    "render": "images",
    "shapes": "shapes",
    "accuracy": "error against 16 x 16 samples a pixel",
    "stream": "stream",
    "cold_start": "start",
    "steps": "learning",
    "lookup": "memory",
    "erase": "erasing a class",
}
"""Which results are shown, and what they are about."""


def table() -> str:
    """Every figure that has a goal, in Markdown."""
    lines = ["| | | measured | goal |", "|---|---|---|---|"]
    for name, about in SHOWN.items():
        path = RESULTS / f"{name}.json"
        rows = json.loads(path.read_text())["rows"] if path.exists() else []
        lines += [_line(about, row) for row in rows if row["goal"] is not None]
    return "\n".join(lines)


def _line(about: str, row: dict[str, Any]) -> str:
    sign = "at most" if row["at_most"] else "at least"
    return f"| {about} | {row['what']} | {_number(row)} | {sign} {row['goal']:g} |"


def _number(row: dict[str, Any]) -> str:
    space = "" if row["unit"] == "x" else " "
    spread = "" if row["spread"] is None else f" ({row['spread'][0]:,.3g} to {row['spread'][1]:,.3g})"
    return f"{row['value']:,.3g}{space}{row['unit']}{spread}"


def with_table(text: str) -> str:
    """A README with its table brought up to date."""
    return between(text, BEGIN, END, table())


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
