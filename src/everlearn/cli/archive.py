"""`everlearn pack` and `unpack`: records with their checkpoints as one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from everlearn import runs
from everlearn.cli.arguments import check_path
from everlearn.cli.output import CommandResult, Console, ConsoleArg, counted
from everlearn.runs.archive import Progress

MEGABYTE = 1_000_000
Archive = Annotated[Path, Parameter(name=["--out", "-o"], metavar="FILE")]


def pack(*records: Path, out: Archive = Path("records.tar.gz"), console: ConsoleArg) -> CommandResult:
    """Write records to one archive file, with their checkpoints, to share or to keep outside of git.

    Args:
        records: Records, or folders of records.
        out: The archive, a new file that ends in .tar.gz.
    """
    with _megabytes(console, "Packing") as progress:
        names = runs.pack([check_path(each) for each in records], check_path(out), progress)
    data = {"archive": str(out), "bytes": out.stat().st_size, "records": names}
    message = f"{out} has {counted(len(names), 'record')}, {data['bytes']:,} bytes"
    return CommandResult(data, lambda: f"{message}; restore with `everlearn unpack {out}`")


def unpack(archive: Path, folder: Path = Path("records"), /, *, console: ConsoleArg) -> CommandResult:
    """Restore the records of an archive; every file is compared with its checksum.

    Args:
        archive: A file that `everlearn pack` has written.
        folder: Where the records are restored; existing records are kept.
    """
    with _megabytes(console, "Unpacking") as progress:
        names = runs.unpack(check_path(archive), check_path(folder), progress)
    data = {"folder": str(folder), "records": names}
    return CommandResult(
        data, lambda: f"{counted(len(names), 'record')} restored in {folder}: {', '.join(names)}"
    )


@contextmanager
def _megabytes(console: Console, title: str) -> Iterator[Progress]:
    """A progress bar in megabytes."""
    with console.progress(title) as update:
        yield lambda done, total: update(done // MEGABYTE, -(-total // MEGABYTE), "MB")
