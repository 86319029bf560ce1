"""`everlearn compare`, `plot`, `report`: several records side by side."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from everlearn.cli.answer import Answer
from everlearn.cli.reading import check_path
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.runs import Record

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
        kind: accuracy, forgetting, scores, cost, learning, factors, probes, latents, traversal, translation,
            translated, ambiguity, disentanglement, openset, mistakes, oneshot, transfer or online.
        runs: Records, or folders that hold records.
        out: The .svg, .pdf or .png file to write; everlearn-KIND.svg here if not said.
        dark: For dark slides instead of paper.
    """
    from everlearn import reports
    from everlearn.errors import unknown

    if kind not in reports.FIGURES:
        raise unknown("figure", kind, reports.FIGURES)
    path = check_path(out or Path(f"everlearn-{kind}.svg"))
    reports.figure(kind, _records(runs), path, look="dark" if dark else "paper")
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
    from everlearn.runs.records import SPEC

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
