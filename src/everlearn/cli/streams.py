"""`everlearn stream`: show, export and fingerprint streams."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from everlearn import reports
from everlearn.cli.arguments import ANY_STREAM, Flag, StreamChoice, check_path, read_task, read_tasks
from everlearn.cli.output import CommandResult, ConsoleArg, details, settings_table, table
from everlearn.cli.sweep import Address, On, OptionalInt, choose_executor
from everlearn.runs import sweep as sweeps

if TYPE_CHECKING:
    from rich.console import RenderableType

    from everlearn.factors import Factors
    from everlearn.streams.exports import Workers as ExportWorkers
    from everlearn.streams.stream import Stream, Task

MAX_THUMBNAILS = 10
MAX_LABELS = 10

app = App(name="stream", help="Show, export and fingerprint streams.")

Out = Parameter(name=["--out", "-o"], show_default=False)
TaskIndex = Annotated[str | None, Parameter(show_default=False, metavar="N")]


@app.command(name="list")
def list_(kind: str | None = None, /) -> CommandResult:
    """List the kinds of streams, or all settings of one kind.

    Args:
        kind: The kind whose settings are listed.
    """
    from everlearn import streams
    from everlearn.settings import describe, first_line

    if kind is None:
        registry = streams.REGISTRY
        kinds = {each: first_line(streams.settings_class(each).__doc__) for each in registry.builtin}
        kinds |= {name: f"from {point.value}" for name, point in registry.installed.items()}
        return CommandResult({"kinds": kinds}, lambda: table(("kind", "stream"), kinds.items()))
    settings = describe(streams.settings_class(kind))
    return CommandResult({"kind": kind, "settings": settings}, lambda: settings_table(settings))


@app.command
def show(
    choice: StreamChoice = ANY_STREAM,
    *,
    task: TaskIndex = None,
    out: Annotated[Path | None, Out] = None,
    gif: Flag = False,
    console: ConsoleArg,
) -> CommandResult:
    """Describe a stream and draw one of its tasks.

    Args:
        choice: The stream.
        task: Index of the task; default: the first.
        out: The image to write; default: everlearn-KIND.png (or .gif).
        gif: Write an animated GIF of the factors.
    """
    index, stream = None if task is None else read_task(task), choice.build()
    # The id of an export is untrusted, so its characters are checked.
    kind = re.sub(r"[^a-z0-9-]", "-", stream.id.partition("/")[0])
    path = check_path(out or Path(f"everlearn-{kind}{'.gif' if gif else '.png'}"))
    reports.check_image_path(path, animated=gif)
    shown = next(stream.take(1)) if index is None else stream.task(index)
    if gif:
        with console.progress("Drawing") as update:
            reports.save(reports.factor_animation(stream, shown.index, update), path)
    else:
        reports.save(reports.contact_sheet(shown), path)
    data = {**_description(stream, shown), "image": str(path)}
    return CommandResult(data, lambda: _details(data, shown))


@app.command
def export(
    choice: StreamChoice = ANY_STREAM,
    *,
    to: str,
    out: Annotated[Path, Out],
    tasks: str = "0:10",
    workers: OptionalInt = None,
    on: On = None,
    address: Address = None,
    console: ConsoleArg,
) -> CommandResult:
    """Export tasks to a folder for other tools; run it again to continue after an interruption.

    The files do not depend on the number of workers.

    Args:
        choice: The stream.
        to: The format: npz, png, parquet, webdataset, or a codec such as my_format.py:MyCodec.
        out: The folder.
        tasks: Tasks: a number, a list such as 0,5,7 or a range without its end such as 0:10.
        workers: Worker processes; default: none on this machine, as many as fit on a cluster.
        on: ray, for the nodes of a Ray cluster; default: this machine.
        address: Head of the Ray cluster; default: the cluster of this machine.
    """
    from everlearn import streams

    parallel = _workers(workers, on, address)
    wanted, stream = read_tasks(tasks), choice.build()
    with console.progress(f"Exporting {stream.id}") as update:
        manifest = streams.export(stream, out, to=to, tasks=wanted, progress=update, workers=parallel)
    data = {
        "stream": stream.id,
        "fingerprint": manifest.fingerprint,
        "tasks": len(manifest.tasks),
        "to": to,
        "out": str(out),
    }
    return CommandResult(data, lambda: f"{len(wanted):,} tasks of {stream.id} are in {out}")


def _workers(workers: int | None, on: str | None, address: str | None) -> "ExportWorkers | None":
    executor = choose_executor(on, address)
    if workers is None and on is None:
        return None
    from everlearn.runs.sweep.export_workers import export_workers

    return export_workers(sweeps.Capacity(workers=workers), executor)


@app.command(show=False)
def export_chunk(folder: Path, /, *, tasks: str) -> CommandResult:
    """Write some tasks of an export in progress; started by `export` with --workers or --on.

    Args:
        folder: Folder of the export.
        tasks: Tasks, as for export.
    """
    from everlearn.streams.exports import export_tasks

    wanted = read_tasks(tasks)
    export_tasks(folder, wanted)
    data = {"out": str(folder), "tasks": len(wanted)}
    return CommandResult(data, lambda: f"{len(wanted):,} tasks are in {folder}")


@app.command
def fingerprint(choice: StreamChoice = ANY_STREAM, *, tasks: str | None = None) -> CommandResult:
    """Print a hash of a stream's content, for citation.

    Args:
        choice: The stream.
        tasks: Tasks, as for export; default: the first two.
    """
    stream = choice.build()
    digest = stream.fingerprint(None if tasks is None else read_tasks(tasks))
    data: dict[str, Any] = {"stream": stream.id, "fingerprint": digest, "tasks": tasks}
    return CommandResult(data, lambda: f"{stream.id} {digest}")


def _description(stream: "Stream", task: "Task") -> dict[str, Any]:
    from everlearn.streams.stream import SPLITS

    return {
        "stream": stream.id,
        "fingerprint": stream.fingerprint(),
        "tasks": stream.n_tasks,
        "task": task.index,
        "labels": list(task.labels),
        "image_shape": list(task.train.images.shape[1:]),
        "images": {split: len(task.split(split)) for split in SPLITS},
        "factors": _factor_ranges(task.train.factors),
        "settings": stream.spec.model_dump(mode="json", exclude_defaults=True),
    }


def _factor_ranges(factors: "Factors | None") -> dict[str, Any]:
    """Minimum, maximum and number of values of each factor that varies."""
    import numpy as np

    from everlearn.factors import FACTOR_NAMES

    if factors is None:
        return {}
    columns = {name: getattr(factors, name) for name in FACTOR_NAMES}
    ranges: dict[str, Any] = {
        name: {"low": float(column.min()), "high": float(column.max()), "values": n_values}
        for name, column in columns.items()
        if (n_values := len(np.unique(column))) > 1
    }
    n_colours = len(np.unique(factors.colour, axis=0))
    return {**ranges, "colour": {"values": n_colours}} if n_colours > 1 else ranges


def _details(data: dict[str, Any], task: "Task") -> "RenderableType":
    from rich.padding import Padding

    from everlearn.cli.terminal_images import TerminalImages

    height, width, *colours = data["image_shape"]
    counts = [f"{n:,} {split.replace('_', ' ')}" for split, n in data["images"].items() if n]
    factors = [_factor_line(name, **values) for name, values in data["factors"].items()]
    settings = [f"{name} = {value}" for name, value in data["settings"].items()]
    rows = [
        ("tasks", "∞" if data["tasks"] is None else f"{data['tasks']:,}"),
        (f"task {data['task']:,}", f"{len(data['labels'])} labels: {_label_list(data['labels'])}"),
        ("images", f"{height} × {width} {'colour' if colours else 'gray'}: {', '.join(counts)}"),
        ("factors", "\n".join(factors) or "unknown or constant"),
        ("settings", "\n".join(settings) or "all defaults"),
        ("fingerprint", data["fingerprint"]),
        ("image", data["image"]),
    ]
    images = (task.exemplars if len(task.exemplars) else task.train).images[:MAX_THUMBNAILS]
    return details(data["stream"], rows, "", Padding(TerminalImages(images), (0, 1), expand=False))


def _factor_line(name: str, values: int, low: float = 0.0, high: float = 0.0) -> str:
    bounds = "" if name == "colour" else f"{low:.4g} … {high:.4g}"
    return f"{name:<7}{bounds:<14}{values:,} values"


def _label_list(labels: list[int]) -> str:
    """Consecutive labels as a range, others one by one up to a limit."""
    if labels == list(range(labels[0], labels[-1] + 1)) and len(labels) > 2:
        return f"{labels[0]} to {labels[-1]}"
    return ", ".join(map(str, labels[:MAX_LABELS])) + (" …" if len(labels) > MAX_LABELS else "")
