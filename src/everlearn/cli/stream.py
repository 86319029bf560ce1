"""`everlearn stream`: look at streams, export them, cite them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from everlearn.cli.answer import Answer, Shown
from everlearn.cli.choose import ANY, StreamChoice
from everlearn.cli.reading import read_task, read_tasks
from everlearn.cli.sweep import Address, On, Workers, place

if TYPE_CHECKING:
    from everlearn.streams.exports import Others

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
    from everlearn.cli import catalogue

    return catalogue.kinds() if kind is None else catalogue.settings(kind)


@app.command
def show(
    choice: StreamChoice = ANY,
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
        out: The picture to write; everlearn-KIND.png (or .gif) here if not said.
        gif: Draw the task moving through its factors, as an animated GIF.
        screen: Where progress is shown.
    """
    from everlearn.cli.portrayal import portray

    k = None if task is None else read_task(task)
    return portray(choice.build(), k, out, moving=gif, screen=screen)


@app.command
def export(
    choice: StreamChoice = ANY,
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

    others = _others(workers, on, address)
    wanted, stream = read_tasks(tasks), choice.build()
    with screen.progress(f"Exporting {stream.id}") as progress:
        manifest = streams.export(stream, out, to=to, tasks=wanted, progress=progress, others=others)
    facts = {
        "stream": stream.id,
        "fingerprint": manifest.fingerprint,
        "tasks": len(manifest.tasks),
        "to": to,
        "out": str(out),
    }
    return Answer(facts, lambda: f"{len(wanted):,} tasks of {stream.id} are in {out}")


def _others(workers: int | None, on: str | None, address: str | None) -> "Others | None":
    """Who makes tasks beside this process, if anybody."""
    where = place(on, address)
    if workers is None and on is None:
        return None
    from everlearn.runs.jobs import Capacity
    from everlearn.runs.jobs.shares import shared_among

    return shared_among(Capacity(workers=workers), where)


@app.command(show=False)
def share(folder: Path, /, *, tasks: str) -> Answer:
    """Make some tasks of an export that is under way; `export` calls this with --workers or --on.

    Args:
        folder: The folder of the export.
        tasks: Which tasks, as for export.
    """
    from everlearn.streams.exports import make_share

    wanted = read_tasks(tasks)
    make_share(folder, wanted)
    return Answer(
        {"out": str(folder), "tasks": len(wanted)}, lambda: f"{len(wanted):,} tasks are in {folder}"
    )


@app.command
def fingerprint(choice: StreamChoice = ANY, *, tasks: str | None = None) -> Answer:
    """Print the short hash of a stream's content, to cite in a paper.

    Args:
        choice: Which stream.
        tasks: Which tasks to read, as for export; the first two if not said.
    """
    stream = choice.build()
    found = stream.fingerprint(None if tasks is None else read_tasks(tasks))
    facts: dict[str, Any] = {"stream": stream.id, "fingerprint": found, "tasks": tasks}
    return Answer(facts, lambda: f"{stream.id} {found}")
