"""A record on one screen."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from everlearn.cli.answer import Answer
from everlearn.evaluation import accuracy_curve
from everlearn.reports.summary import summary
from everlearn.runs import Record

BARS = "▁▂▃▄▅▆▇█"
CURVE_WIDTH = 60


def answer(record: Record, *, note: str = "", code: int = 0) -> Answer:
    """What a record holds, for `run`, `resume` and `show` alike.

    Args:
        record: the record.
        note: a sentence that goes below.
        code: the exit code.
    """
    facts = summary(record)
    return Answer(facts, lambda: _view(record, facts, note), code)


def _view(record: Record, facts: dict[str, Any], note: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for word, value in _lines(record, facts):
        grid.add_row(word, value)
    title = Text(f" {facts['learner']} on {facts['stream'] or 'a stream not begun'}", style="bold")
    return Group("", title, "", Padding(grid, (0, 1), expand=False), *([f"\n {note}"] if note else []))


def _lines(record: Record, facts: dict[str, Any]) -> list[tuple[str, str]]:
    state = "finished" if facts["finished"] else f"of {facts['tasks_planned']}, not finished"
    return [
        (
            "tasks",
            f"{facts['tasks']:,} {state}" + ("" if facts["exact"] else "; resumed elsewhere, not exact"),
        ),
        ("accuracy", f"{_share(facts['average_accuracy'])} on all tasks seen  {_curve(record)}"),
        ("forgetting", _share(facts["forgetting"])),
        ("cost", f"{facts['seconds']:,.1f} s, {facts['images']:,} images, {facts['flops']:.3g} flops"),
        ("holds", f"{_bytes(facts['weights_bytes'])} of weights, {_bytes(facts['memory_bytes'])} of memory"),
        ("fingerprint", str(facts["fingerprint"] or "–")),
        ("digest", facts["digest"]),
        ("record", facts["record"]),
    ]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _curve(record: Record) -> str:
    """Accuracy on all tasks seen, after each task, as a line of bars."""
    curve = [value for value in accuracy_curve(record.score_table()).tolist() if value == value]
    step = max(1, -(-len(curve) // CURVE_WIDTH))
    return "".join(BARS[round(value * (len(BARS) - 1))] for value in curve[::step])


def _bytes(n: int) -> str:
    power = min(3, (len(str(n)) - 1) // 3)
    return f"{n / 1000**power:.3g} {('bytes', 'KB', 'MB', 'GB')[power]}"
