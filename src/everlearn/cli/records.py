"""`everlearn list`, `show`: what records hold."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from everlearn.cli.arguments import check_path
from everlearn.cli.output import Answer
from everlearn.errors import BadInput
from everlearn.evaluation.formatting import format_amount, format_duration
from everlearn.reports.run_results import RunResults, summary
from everlearn.runs import Record

if TYPE_CHECKING:
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
    found = RunResults.from_record(record)
    facts = summary(found)
    return Answer(facts, lambda: _view(found, facts, note), code)


def _view(found: RunResults, facts: dict[str, Any], note: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for word, value in _lines(found, facts):
        grid.add_row(word, value)
    title = Text(f" {facts['learner']} on {facts['stream'] or 'a stream not begun'}", style="bold")
    return Group("", title, "", Padding(grid, (0, 1), expand=False), *([f"\n {note}"] if note else []))


def _lines(found: RunResults, facts: dict[str, Any]) -> list[tuple[str, str]]:
    state = "finished" if facts["finished"] else f"of {facts['tasks_planned']}, not finished"
    elsewhere = "" if facts["exact"] else "; resumed elsewhere, not exact"
    held = [f"{format_amount(facts[part + '_bytes'], 'B')} of {part}" for part in ("weights", "memory")]
    time, flops = format_duration(facts["seconds"]), format_amount(facts["flops"], "FLOPs")
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


def _curve(found: RunResults) -> str:
    """Accuracy on all tasks seen, after each task, as a line of bars."""
    curve = list(found.accuracy().values())
    step = max(1, -(-len(curve) // CURVE_WIDTH))
    return "".join(BARS[round(value * (len(BARS) - 1))] for value in curve[::step])


Out = Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")


def compare(
    *runs: Path, csv: Annotated[Path | None, Parameter(show_default=False, metavar="FILE")] = None
) -> Answer:
    """Put records side by side; those that differ only in their seed become one row with its interval.

    Args:
        runs: Records, or folders that hold records.
        csv: A .csv file to write the table to.
    """
    from everlearn import files, reports
    from everlearn.reports.figures import check_path as check_file

    if csv is not None:
        check_file(check_path(csv), [".csv"])
    comparison = reports.compare(_records(runs))
    if csv is not None:
        files.write(csv, comparison.csv().encode())
    return Answer({"rows": comparison.rows, "csv": None if csv is None else str(csv)}, comparison.table)


def plot(
    kind: str,
    /,
    *runs: Path,
    out: Annotated[Path | None, Out] = None,
    dark: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> Answer:
    """Draw a figure over records.

    Args:
        kind: accuracy, forgetting, scores, cost, within-tasks, factors or probes; of protocols: one-shot,
            open-set, false-accepts, held-out-factors, latent-usage, traversal, cross-domain,
            cross-domain-scores, ambiguity, multiple-choice, online-offline or disentanglement.
        runs: Records, or folders that hold records.
        out: The .svg, .pdf or .png file to write (default: everlearn-KIND.svg).
        dark: Dark background instead of white.
    """
    from everlearn import reports
    from everlearn.errors import unknown

    if kind not in reports.captions():
        raise unknown("figure", kind, reports.captions())
    path = check_path(out or Path(f"everlearn-{kind}.svg"))
    reports.figure(kind, _records(runs), path, style="dark" if dark else "light")
    return Answer({"figure": kind, "out": str(path)}, lambda: f"{kind} is drawn in {path}")


def report(*runs: Path, out: Annotated[Path, Out] = Path("report.html")) -> Answer:
    """Write one web page with tables and figures over records; it needs no network.

    Args:
        runs: Records, or folders that hold records.
        out: The .html file to write; report.html here if not said.
    """
    from everlearn import reports

    records = _records(runs)
    reports.html(records, check_path(out))
    facts = {"records": [str(record.folder) for record in records], "out": str(out)}
    return Answer(facts, lambda: f"The report on {len(records)} runs is {out}")


def _records(runs: Iterable[Path]) -> "list[Record]":
    """The records meant by their folders, or by folders that hold several."""
    from everlearn.runs import Record, list_records
    from everlearn.runs.run_record import SPEC

    found: list[Record] = []
    for path in map(check_path, runs):
        found += list_records(path) if path.is_dir() and not (path / SPEC).exists() else [Record(path)]
    if not found:
        raise BadInput("no record is named here; give the folders of some, or one that holds them")
    _check_once(record.folder for record in found)
    return found


def _check_once(folders: Iterable[Path]) -> None:
    """A run that counts twice makes an interval look surer than it is."""
    seen: set[Path] = set()
    for folder in folders:
        if folder.resolve() in seen:
            raise BadInput(f"the record {folder} is named twice; name each once, or only the folder of all")
        seen.add(folder.resolve())


def list_(folder: Path = Path("records"), /) -> Answer:
    """List the records in a folder.

    Args:
        folder: The folder that holds them.
    """
    from everlearn.reports.run_results import RunResults, summary
    from everlearn.runs import list_records
    from everlearn.runs.run_record import SPEC

    if (check_path(folder) / SPEC).is_file():
        raise BadInput(f"{folder} is itself a record; look at it with `everlearn show {folder}`")
    facts = [summary(RunResults.from_record(record)) for record in list_records(folder)]
    return Answer({"records": facts}, lambda: _table(facts) if facts else f"{folder} holds no records yet")


def show(record: Path, /) -> Answer:
    """Say what a record holds: how far it is, how good, at what cost.

    Args:
        record: The folder of the record.
    """
    pass
    from everlearn.runs import Record

    return answer(Record(record))


def _table(facts: list[dict[str, Any]]) -> Any:
    from everlearn.cli.output import table

    titles = ("record", "learner", "stream", "tasks", "accuracy", "forgetting", "time")
    return table(titles, [_row(fact) for fact in facts])


def _row(fact: dict[str, Any]) -> tuple[str, ...]:
    from everlearn.evaluation.formatting import format_duration, format_score

    numbers = [fact[key] for key in ("average_accuracy", "forgetting", "seconds")]
    accuracy, forgetting, time = (
        form(number)
        for form, number in zip((format_score, format_score, format_duration), numbers, strict=True)
    )
    said = f"\n“{fact['name']}”" if fact["name"] else ""
    tasks = str(fact["tasks"]) if fact["finished"] else f"{fact['tasks']} of {fact['tasks_planned'] or '?'}"
    return (
        f"{fact['record']}{said}",
        fact["learner"],
        fact["stream"] or "–",
        tasks,
        accuracy,
        forgetting,
        time,
    )
