"""The table of docs/scale.md on memory past RAM, from kept figures: `python -m benchmarks.memory_page`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.places import between

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "memory"
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- memory: written by python -m benchmarks.memory_page -->", "<!-- end of memory -->"

LINES: dict[str, tuple[str, Callable[[float], str]]] = {
    "the true nearest is found, of exact copies": ("recall_same", "{:.3f}".format),
    "… with the errors of a trained network": ("recall_small", "{:.3f}".format),
    "… with errors several times as large": ("recall_large", "{:.3f}".format),
    "bytes a class in RAM": ("ram_bytes", "{:,.0f}".format),
    "bytes a class on disk": ("disk_bytes", "{:,.0f}".format),
    "milliseconds for one lookup": ("lookup_milliseconds", "{:.1f}".format),
    "… for each of 200 at once": ("batch_lookup_milliseconds", "{:.1f}".format),
    "classes added a second, 2,000 at a time": ("adds_per_second", "{:,.0f}".format),
    "milliseconds to add one class": ("add_milliseconds", "{:.0f}".format),
    "… to rename one": ("rename_milliseconds", "{:.0f}".format),
    "… to forget one": ("forget_milliseconds", "{:.0f}".format),
    "seconds to open": ("open_seconds", "{:.2f}".format),
}


def table() -> str:
    """The kept figures, a column for each size, in Markdown."""
    kept = [json.loads(path.read_text())["figures"] for path in RESULTS.glob("*.json")]
    kept.sort(key=lambda figures: int(figures["classes"]))
    lines = [
        _line("classes", [f"{figures['classes']:,}" for figures in kept]),
        "|---" * (len(kept) + 1) + "|",
    ]
    for what, (name, say) in LINES.items():
        lines.append(_line(what, [say(figures[name]) for figures in kept]))
    return "\n".join(lines)


def _line(what: str, values: list[Any]) -> str:
    return f"| {what} | {' | '.join(values)} |"


def with_table(text: str) -> str:
    """A page with its table brought up to date."""
    return between(text, BEGIN, END, table())


def write_page() -> None:
    """Bring docs/scale.md up to date."""
    PAGE.write_text(with_table(PAGE.read_text()))


if __name__ == "__main__":
    write_page()
