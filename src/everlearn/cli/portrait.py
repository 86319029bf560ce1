"""A record on one screen."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from everlearn.cli.answer import Answer
from everlearn.reports.findings import Findings
from everlearn.reports.quantities import amount, duration, exactly
from everlearn.reports.summary import summary
from everlearn.runs import Record

BARS = "▁▂▃▄▅▆▇█"
CURVE_WIDTH = 60
ACTS = {"add": "added to", "rename": "renamed", "forget": "forgot"}
EDITS = 5
"""The newest edits, which are shown."""
SOMETIMES = {
    "forward transfer": "forward_transfer",
    "worst case": "worst_case_accuracy",
    "learning curve": "learning_curve_area",
}
"""What is only known of some runs."""


def answer(record: Record, *, note: str = "", code: int = 0) -> Answer:
    """What a record holds, for `run`, `resume` and `show` alike.

    Args:
        record: the record.
        note: a sentence that goes below.
        code: the exit code.
    """
    found = Findings.of(record)
    facts = summary(found)
    return Answer(facts, lambda: _view(found, facts, note), code)


def _view(found: Findings, facts: dict[str, Any], note: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for word, value in _lines(found, facts):
        grid.add_row(word, value)
    title = Text(f" {facts['learner']} on {facts['stream'] or 'a stream not begun'}", style="bold")
    return Group("", title, "", Padding(grid, (0, 1), expand=False), *([f"\n {note}"] if note else []))


def _lines(found: Findings, facts: dict[str, Any]) -> list[tuple[str, str]]:
    state = "finished" if facts["finished"] else f"of {facts['tasks_planned']}, not finished"
    elsewhere = "" if facts["exact"] else "; resumed elsewhere, not exact"
    held = [f"{amount(exactly(facts[part + '_bytes']), 'B')} of {part}" for part in ("weights", "memory")]
    time, flops = duration(exactly(facts["seconds"])), amount(exactly(facts["flops"]), "FLOPs")
    named = [("name", facts["name"])] if facts["name"] else []
    edits = [("edited", "\n".join(_edit(edit) for edit in facts["edits"][-EDITS:]))] if found.edits else []
    return [
        *named,
        ("tasks", f"{facts['tasks']:,} {state}{elsewhere}"),
        ("accuracy", f"{_share(facts['average_accuracy'])} on all tasks seen  {_curve(found)}"),
        ("forgetting", _share(facts["forgetting"])),
        *[(word, _share(facts[key])) for word, key in SOMETIMES.items() if facts[key] is not None],
        ("cost", f"{time}, {facts['images']:,} images, {flops}"),
        ("holds", ", ".join(held)),
        *edits,
        ("fingerprint", str(facts["fingerprint"] or "–")),
        ("digest", facts["digest"]),
        ("record", facts["record"]),
    ]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _edit(edit: dict[str, Any]) -> str:
    return f"{ACTS[edit['act']]} label {edit['label']} after {edit['n_tasks']:,} tasks"


def _curve(found: Findings) -> str:
    """Accuracy on all tasks seen, after each task, as a line of bars."""
    curve = list(found.accuracy().values())
    step = max(1, -(-len(curve) // CURVE_WIDTH))
    return "".join(BARS[round(value * (len(BARS) - 1))] for value in curve[::step])
