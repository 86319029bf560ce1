"""`everlearn stream`: look at streams, export them, cite them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import App, Parameter
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from everlearn.cli.arguments import ANY_STREAM, StreamChoice, check_path, read_task, read_tasks
from everlearn.cli.output import Answer, Screen, Shown
from everlearn.cli.sweep import Address, On, Workers, place
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.reports import contact_sheet, factor_animation, save
from everlearn.reports.contact_sheet import Images, check_image_path
from everlearn.streams.stream import SPLITS, Stream, Task

if TYPE_CHECKING:
    from everlearn.streams.exports import Workers as ExportWorkers


SIDE = 16
GAP = 2
UPPER_HALF = "▀"


class Mosaic:
    """As many small images in a row as fit; nothing where colours cannot be shown.

    A letter is about twice as high as wide, so each shows two pixels: its upper half in the ink's colour,
    its lower half in the paper's.

    Args:
        images: (n, H, W) gray or (n, H, W, 3) colour.
    """

    def __init__(self, images: Images) -> None:
        colour = images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
        self._tiles = [_shrunk(image) for image in colour]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal or console.color_system is None:
            return
        tiles = self._tiles[: (options.max_width + GAP) // (SIDE + GAP)]
        for y in range(0, SIDE, 2):
            for tile in tiles:
                yield from Segment.simplify(_letters(tile[y], tile[y + 1]))
                yield Segment(" " * GAP)
            yield Segment.line()


def _shrunk(image: Images) -> Images:
    """An image of 16 x 16 pixels, each the mean of those it stands for."""
    cut = [np.linspace(0, side, SIDE, endpoint=False).astype(int) for side in image.shape[:2]]
    sums = np.add.reduceat(np.add.reduceat(image.astype(np.int64), cut[0], axis=0), cut[1], axis=1)
    # A side below 16 has places that stand for no pixel of their own; they repeat their neighbour's.
    heights, widths = (
        np.maximum(np.diff(c, append=side), 1) for c, side in zip(cut, image.shape[:2], strict=True)
    )
    means = sums / (heights[:, None] * widths)[..., None]
    return np.asarray(means.round(), dtype=np.uint8)


def _letters(upper: Images, lower: Images) -> Iterator[Segment]:
    for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
        yield Segment(UPPER_HALF, Style(color=_hex(above), bgcolor=_hex(below)))


def _hex(colour: list[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def portray(stream: Stream, k: int | None, out: Path | None, *, moving: bool, screen: Screen) -> Answer:
    """Draw task k (the first if None) to a file and describe the stream."""
    path = check_path(out or Path(f"everlearn-{_kind(stream)}{'.gif' if moving else '.png'}"))
    check_image_path(path, animated=moving)
    task = next(stream.take(1)) if k is None else stream.task(k)
    if moving:
        with screen.progress("Drawing") as progress:
            save(factor_animation(stream, task.index, progress), path)
    else:
        save(contact_sheet(task), path)
    facts = {**_facts(stream, task), "image": str(path)}
    return Answer(facts, lambda: _view(facts, task))


def _kind(stream: Stream) -> str:
    """The kind as part of a file's name; an export may come from anybody and call itself anything."""
    return re.sub(r"[^a-z0-9-]", "-", stream.id.partition("/")[0])


def _facts(stream: Stream, task: Task) -> dict[str, Any]:
    return {
        "stream": stream.id,
        "fingerprint": stream.fingerprint(),
        "tasks": stream.n_tasks,
        "task": task.index,
        "labels": list(task.labels),
        "image_shape": list(task.train.images.shape[1:]),
        "images": {split: len(task.split(split)) for split in SPLITS},
        "factors": _factor_facts(task.train.factors),
        "settings": stream.spec.model_dump(mode="json", exclude_defaults=True),
    }


def _factor_facts(factors: Factors | None) -> dict[str, Any]:
    """Of each factor that varies: the lowest and highest value, and how many there are."""
    columns = {} if factors is None else {name: getattr(factors, name) for name in FACTOR_NAMES}
    facts = {
        name: {"low": float(column.min()), "high": float(column.max()), "values": len(np.unique(column))}
        for name, column in columns.items()
        if len(np.unique(column)) > 1
    }
    n_colours = 0 if factors is None else len(np.unique(factors.colour, axis=0))
    return {**facts, "colour": {"values": n_colours}} if n_colours > 1 else facts


def _view(facts: dict[str, Any], task: Task) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for word, value in _lines(facts):
        grid.add_row(word, value)
    title = Text(f" {facts['stream']}", style="bold")
    images = task.exemplars if len(task.exemplars) else task.train
    return Group(
        "",
        title,
        "",
        Padding(grid, (0, 1), expand=False),
        "",
        Padding(Mosaic(images.images[:10]), (0, 1), expand=False),
    )


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    height, width, *colours = facts["image_shape"]
    counts = [f"{n:,} {split.replace('_', ' ')}" for split, n in facts["images"].items() if n]
    factors = [_factor_line(name, **values) for name, values in facts["factors"].items()]
    settings = [f"{name} = {value}" for name, value in facts["settings"].items()]
    return [
        ("tasks", "∞" if facts["tasks"] is None else f"{facts['tasks']:,}"),
        (f"task {facts['task']:,}", f"{len(facts['labels'])} labels: {_numbers(facts['labels'])}"),
        ("images", f"{height} × {width} {'colour' if colours else 'gray'}: {', '.join(counts)}"),
        ("factors", "\n".join(factors) or "unknown, or always the same"),
        ("settings", "\n".join(settings) or "all defaults"),
        ("fingerprint", facts["fingerprint"]),
        ("image", facts["image"]),
    ]


def _factor_line(name: str, values: int, low: float = 0.0, high: float = 0.0) -> str:
    span = "" if name == "colour" else f"{low:.4g} … {high:.4g}"
    return f"{name:<7}{span:<14}{values:,} values"


def _numbers(labels: list[int]) -> str:
    """Consecutive numbers as a range, others one by one, not more than fit on a line."""
    if labels == list(range(labels[0], labels[-1] + 1)) and len(labels) > 2:
        return f"{labels[0]} to {labels[-1]}"
    return ", ".join(map(str, labels[:10])) + (" …" if len(labels) > 10 else "")


app = App(name="stream", help="Look at streams, export them, cite them.")

Out = Parameter(name=["--out", "-o"], show_default=False)
Number = Parameter(metavar="N")
Optional = Parameter(negative=(), show_default=False)


@app.command(name="list")
def list_(kind: str | None = None, /) -> Answer:
    """List the kinds of streams, or all settings of one kind.

    Args:
        kind: The kind whose settings are listed.
    """
    from everlearn.cli import output

    return output.kinds() if kind is None else output.settings(kind)


@app.command
def show(
    choice: StreamChoice = ANY_STREAM,
    *,
    task: Annotated[str | None, Optional, Number] = None,
    out: Annotated[Path | None, Out] = None,
    gif: Annotated[bool, Optional] = False,
    screen: Shown,
) -> Answer:
    """Describe a stream and draw one of its tasks.

    Args:
        choice: Which stream.
        task: The number of the task that is drawn; the first if not said.
        out: The image to write; everlearn-KIND.png (or .gif) here if not said.
        gif: Draw the task moving through its factors, as an animated GIF.
        screen: Where progress is shown.
    """
    pass

    k = None if task is None else read_task(task)
    return portray(choice.build(), k, out, moving=gif, screen=screen)


@app.command
def export(
    choice: StreamChoice = ANY_STREAM,
    *,
    to: Literal["npz", "png", "parquet", "webdataset"],
    out: Annotated[Path, Out],
    tasks: str = "0:10",
    workers: Workers = None,
    on: On = None,
    address: Address = None,
    screen: Shown,
) -> Answer:
    """Write tasks to a folder that other tools can read; run it again to go on after a break.

    However many work at it, and wherever: the files are the same, byte for byte.

    Args:
        choice: Which stream.
        to: The format.
        out: The folder.
        tasks: Which tasks: one number, several such as 0,5,7 or a range without its end such as 0:10.
        workers: Processes that make tasks side by side; this one, or as many as a cluster has room for, if
            not said.
        on: Where they work: ray, for the nodes of a Ray cluster; this machine if not said.
        address: The head of the Ray cluster; the cluster of this machine if not said.
        screen: Where progress is shown.
    """
    from everlearn import streams

    parallel = _workers(workers, on, address)
    wanted, stream = read_tasks(tasks), choice.build()
    with screen.progress(f"Exporting {stream.id}") as progress:
        manifest = streams.export(stream, out, to=to, tasks=wanted, progress=progress, workers=parallel)
    facts = {
        "stream": stream.id,
        "fingerprint": manifest.fingerprint,
        "tasks": len(manifest.tasks),
        "to": to,
        "out": str(out),
    }
    return Answer(facts, lambda: f"{len(wanted):,} tasks of {stream.id} are in {out}")


def _workers(workers: int | None, on: str | None, address: str | None) -> "ExportWorkers | None":
    """Processes that write tasks in parallel, if there are any."""
    where = place(on, address)
    if workers is None and on is None:
        return None
    from everlearn.runs.sweep import Capacity
    from everlearn.runs.sweep.export_workers import shared_among

    return shared_among(Capacity(workers=workers), where)


@app.command(show=False)
def share(folder: Path, /, *, tasks: str) -> Answer:
    """Make some tasks of an export that is under way; `export` calls this with --workers or --on.

    Args:
        folder: The folder of the export.
        tasks: Which tasks, as for export.
    """
    from everlearn.streams.exports import export_tasks

    wanted = read_tasks(tasks)
    export_tasks(folder, wanted)
    return Answer(
        {"out": str(folder), "tasks": len(wanted)}, lambda: f"{len(wanted):,} tasks are in {folder}"
    )


@app.command
def fingerprint(choice: StreamChoice = ANY_STREAM, *, tasks: str | None = None) -> Answer:
    """Print the short hash of a stream's content, to cite in a paper.

    Args:
        choice: Which stream.
        tasks: Which tasks to read, as for export; the first two if not said.
    """
    stream = choice.build()
    found = stream.fingerprint(None if tasks is None else read_tasks(tasks))
    facts: dict[str, Any] = {"stream": stream.id, "fingerprint": found, "tasks": tasks}
    return Answer(facts, lambda: f"{stream.id} {found}")
