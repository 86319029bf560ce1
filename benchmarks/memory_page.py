"""The table of docs/scale.md on the on-disk memory: `python -m benchmarks.memory_page`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.page_sections import replace_section

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "memory"
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- memory: written by python -m benchmarks.memory_page -->", "<!-- end of memory -->"

LINES: dict[str, tuple[str, Callable[[float], str]]] = {
    "recall of the nearest image, exact copies": ("recall_same", "{:.3f}".format),
    "… with the pose errors of a trained network": ("recall_small", "{:.3f}".format),
    "… with several times larger errors": ("recall_large", "{:.3f}".format),
    "bytes per class in RAM": ("ram_bytes", "{:,.0f}".format),
    "bytes per class on disk": ("disk_bytes", "{:,.0f}".format),
    "milliseconds per search": ("lookup_milliseconds", "{:.1f}".format),
    "… in a batch of 200": ("batch_lookup_milliseconds", "{:.1f}".format),
    "classes added per second, in batches of 2,000": ("adds_per_second", "{:,.0f}".format),
    "milliseconds to add one class": ("add_milliseconds", "{:.0f}".format),
    "… to rename one": ("rename_milliseconds", "{:.0f}".format),
    "… to forget one": ("forget_milliseconds", "{:.0f}".format),
    "seconds to open": ("open_seconds", "{:.2f}".format),
}


def table() -> str:
    """Stored results, one column per size, in Markdown."""
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
    """A page with an updated table."""
    return replace_section(text, BEGIN, END, table())


def write_page() -> None:
    """Update docs/scale.md."""
    PAGE.write_text(with_table(PAGE.read_text()))


if __name__ == "__main__":
    write_page()
