"""`everlearn list`, `show`, `compare`, `plot` and `report`: results of recorded runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from everlearn import files, reports, runs
from everlearn.cli.arguments import Flag, check_path
from everlearn.cli.output import CommandResult, details, table, text
from everlearn.errors import BadInput, unknown

BARS = "▁▂▃▄▅▆▇█"
CURVE_WIDTH = 60
EDITS = {"add": "added to", "rename": "renamed", "forget": "deleted"}
MAX_EDITS = 5
OPTIONAL_MEASURES = {
    "forward transfer": "forward_transfer",
    "worst case": "worst_case_accuracy",
    "learning curve": "learning_curve_area",
}
"""Measures that only some runs have."""

OutFile = Annotated[Path | None, Parameter(show_default=False, metavar="FILE")]
Out = Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")


def list_(folder: Path = Path("records"), /) -> CommandResult:
    """List the records in a folder, or the classes of a memory.

    Args:
        folder: Folder of records, or of a memory of `everlearn teach`.
    """
    from everlearn.cli import recognise

    if recognise.is_recogniser(check_path(folder)):
        return recognise.list_classes(folder)
    if runs.has_record(check_path(folder)):
        raise BadInput(f"{folder} is a record; show it with `everlearn show {folder}`")
    rows = [reports.summary(reports.RunResults.from_record(record)) for record in runs.list_records(folder)]
    titles = ("record", "learner", "stream", "tasks", "accuracy", "forgetting", "time")
    return CommandResult(
        {"records": rows},
        lambda: table(titles, map(_list_row, rows)) if rows else f"{folder} has no records yet",
    )


def _list_row(data: dict[str, Any]) -> tuple[str, ...]:
    from everlearn.evaluation.formatting import format_duration, format_score

    return (
        data["record"] + (f"\n“{data['name']}”" if data["name"] else ""),
        data["learner"],
        text(data["stream"]),
        str(data["tasks"]) if data["finished"] else f"{data['tasks']} of {data['tasks_planned'] or '?'}",
        format_score(data["average_accuracy"]),
        format_score(data["forgetting"]),
        format_duration(data["seconds"]),
    )


def show(record: Path, /, *, time: Flag = False) -> CommandResult:
    """Show the results of a run: progress, accuracy and cost.

    Args:
        record: Folder of the record.
        time: Show where the time of the run went instead.
    """
    return _times(runs.Record(record)) if time else record_result(runs.Record(record))


def _times(record: "runs.Record") -> CommandResult:
    from everlearn.evaluation.formatting import format_duration

    phases = reports.phase_seconds(record)
    if not phases:
        raise BadInput(f"{record.folder} has no times of phases; they are recorded after the first task")
    total = sum(phases.values())
    shares = {name: seconds / total if total else 0.0 for name, seconds in phases.items()}
    rows = [(name, format_duration(phases[name]), f"{shares[name]:.1%}") for name in phases]
    cpu = reports.cpu_seconds(record)
    data = {"record": str(record.folder), "seconds": total, "cpu_seconds": cpu, "phases": phases}
    rows.append(("all", format_duration(total), ""))
    if cpu is not None:
        rows.append(("CPU time", format_duration(cpu), ""))
    return CommandResult(data, lambda: table(("", "time", "share"), rows))


def record_result(record: "runs.Record", *, note: str = "", exit_code: int = 0) -> CommandResult:
    """The results of a run, for `run`, `resume` and `show`."""
    results = reports.RunResults.from_record(record)
    data = reports.summary(results)
    title = f"{data['learner']} on {data['stream'] or 'a stream (not started)'}"
    more = [f"\n {note}"] if note else []
    return CommandResult(data, lambda: details(title, _lines(results, data), *more), exit_code)


def _lines(results: "reports.RunResults", data: dict[str, Any]) -> list[tuple[str, str]]:
    from everlearn.evaluation.formatting import format_amount, format_duration

    state = "finished" if data["finished"] else f"of {data['tasks_planned']}, not finished"
    inexact = "" if data["exact"] else "; resumed on another machine, not exact"
    sizes = [f"{format_amount(data[part + '_bytes'], 'B')} of {part}" for part in ("weights", "memory")]
    time, flops = format_duration(data["seconds"]), format_amount(data["flops"], "FLOPs")
    edits = "\n".join(
        f"{EDITS[edit['action']]} label {edit['label']} after {edit['n_tasks']:,} tasks"
        for edit in data["edits"][-MAX_EDITS:]
    )
    facts = results.record.machine.items()
    machine = ", ".join(f"{name} {value}" for name, value in facts if name != "exact")
    measures = [
        (title, text(data[key], ".4f")) for title, key in OPTIONAL_MEASURES.items() if data[key] is not None
    ]
    return [
        *([("name", data["name"])] if data["name"] else []),
        ("tasks", f"{data['tasks']:,} {state}{inexact}"),
        ("accuracy", f"{text(data['average_accuracy'], '.4f')} on all tasks seen  {_curve(results)}"),
        ("forgetting", text(data["forgetting"], ".4f")),
        *measures,
        ("cost", f"{time}, {data['images']:,} images, {flops}"),
        ("size", ", ".join(sizes)),
        *([("edits", edits)] if edits else []),
        ("fingerprint", text(data["fingerprint"])),
        ("digest", data["digest"]),
        *([("machine", machine)] if machine else []),
        ("record", data["record"]),
    ]


def _curve(results: "reports.RunResults") -> str:
    """Accuracy on all tasks seen after each task, as a line of bars."""
    curve = list(results.accuracy().values())
    step = max(1, -(-len(curve) // CURVE_WIDTH))
    return "".join(BARS[round(value * (len(BARS) - 1))] for value in curve[::step])


def compare(
    *runs: Path,
    metric: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, metavar="NAME")] = (),
    csv: OutFile = None,
    latex: OutFile = None,
    markdown: OutFile = None,
) -> CommandResult:
    """Compare runs in a table; runs that differ only in seeds form one row.

    Notes explain ±, the number of test images behind accuracies near 1, and which records were not counted.

    Args:
        runs: Records, or folders of records.
        metric: A further metric of the score table, repeatable, such as my_metrics.py:my_metric.
        csv: A .csv file to write all numbers to.
        latex: A .tex file to write the table to.
        markdown: A .md file to write the table and its notes to.
    """
    outs = {"csv": csv, "latex": latex, "markdown": markdown}
    for path, ending in zip(outs.values(), (".csv", ".tex", ".md"), strict=True):
        if path is not None:
            files.check_output(path, [ending])
    comparison = reports.compare(_records(runs), metric)
    exports = (comparison.to_csv, comparison.to_latex, comparison.to_markdown)
    for path, export in zip(outs.values(), exports, strict=True):
        if path is not None:
            files.write(path, export().encode())
    written = {name: path and str(path) for name, path in outs.items()}
    return CommandResult({"rows": comparison.rows, "notes": comparison.notes, **written}, comparison.text)


def plot(
    kind: str, /, *runs: Path, out: Annotated[Path | None, Out] = None, dark: Flag = False
) -> CommandResult:
    """Draw a figure of runs.

    Args:
        kind: accuracy, forgetting, scores, cost, accuracy-bytes, accuracy-flops, within-tasks, factors or
            probes; of protocols: one-shot, open-set, false-accepts, open-world, held-out-factors,
            latent-usage, environment-timeline, traversal, cross-domain,
            cross-domain-scores, ambiguity, multiple-choice, online-offline or disentanglement.
        runs: Records, or folders of records.
        out: A .svg, .pdf or .png file; default: everlearn-KIND.svg.
        dark: Use a dark background.
    """
    if kind not in reports.captions():
        raise unknown("figure", kind, reports.captions())
    path = check_path(out or Path(f"everlearn-{kind}.svg"))
    reports.figure(kind, _records(runs), path, style="dark" if dark else "light")
    return CommandResult({"figure": kind, "out": str(path)}, lambda: f"{kind} is in {path}")


def report(*runs: Path, out: Annotated[Path, Out] = Path("report.html")) -> CommandResult:
    """Write an HTML report of runs with tables and figures in one file.

    Args:
        runs: Records, or folders of records.
        out: The .html file; default: report.html.
    """
    records = _records(runs)
    reports.html(records, check_path(out))
    data = {"records": [str(record.folder) for record in records], "out": str(out)}
    return CommandResult(data, lambda: f"The report of {len(records)} runs is in {out}")


def _records(paths: Iterable[Path]) -> "list[runs.Record]":
    """The records at some paths; a folder stands for all records in it. Each counts once."""
    found: dict[Path, runs.Record] = {}
    for path in map(check_path, paths):
        for record in (
            runs.list_records(path) if path.is_dir() and not runs.has_record(path) else [runs.Record(path)]
        ):
            if record.folder.resolve() in found:
                raise BadInput(f"the record {record.folder} is given twice; give each once")
            found[record.folder.resolve()] = record
    if not found:
        raise BadInput("no record is given; name records, or a folder of records")
    return list(found.values())
