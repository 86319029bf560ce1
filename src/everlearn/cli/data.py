"""`everlearn data`: published datasets, where they are, and their download."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from everlearn.cli.output import NONE, CommandResult, ConsoleArg, table
from everlearn.streams.images.location import data_folder
from everlearn.streams.images.sources import SOURCES, DataSource, data_source

if TYPE_CHECKING:
    from rich.console import RenderableType

app = App(name="data", help="List and download published datasets.")

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
MEGABYTE = 1_000_000


@app.command(name="list")
def list_() -> CommandResult:
    """List the published datasets: where each is, or what to put where."""
    root = data_folder()
    data = {"folder": str(root), "datasets": {name: _entry(each, root) for name, each in SOURCES.items()}}
    return CommandResult(data, lambda: _table(data))


@app.command
def fetch(name: str, /, *, to: Folder = None, console: ConsoleArg) -> CommandResult:
    """Download a published dataset; run it again to continue after an interruption.

    Args:
        name: The dataset, as `everlearn data list` names it.
        to: Folder of datasets; default: $EVERLEARN_DATA, or the data folder of this system.
    """
    from everlearn.cli.arguments import check_path
    from everlearn.streams.images.fetch import fetch as download

    source, root = data_source(name), (data_folder() if to is None else check_path(to).absolute())
    with console.progress(f"Fetching {name}") as update:

        def progress(done: int, total: int | None, note: str) -> None:
            update(done // MEGABYTE, None if total is None else -(-total // MEGABYTE), f"MB of {note}")

        folder, downloaded = download(source, root, progress)
    unverified = [file.name for file in downloaded if file.md5 is None]
    names = [file.name for file in downloaded]
    data = {"dataset": name, "folder": str(folder), "downloaded": names, "unverified": unverified}
    return CommandResult(data, lambda: _message(data))


def _entry(source: DataSource, root: Path) -> dict[str, Any]:
    found = source.find(root)
    return {
        "streams": list(source.streams),
        "found": None if found is None else str(found),
        "advice": None
        if found is not None
        else f"`everlearn data fetch {source.name}`, or {source.advice(root)}",
    }


def _table(data: dict[str, Any]) -> "RenderableType":
    rows = [
        (name, ", ".join(each["streams"]), each["found"] or f"{NONE} {each['advice']}")
        for name, each in data["datasets"].items()
    ]
    return table(("dataset", "streams", f"found in {data['folder']}"), rows)


def _message(data: dict[str, Any]) -> str:
    if not data["downloaded"]:
        return f"{data['dataset']} is already in {data['folder']}"
    unverified = (
        f"; no checksum is published for {', '.join(data['unverified'])}" if data["unverified"] else ""
    )
    return f"{data['dataset']} is in {data['folder']}{unverified}"
