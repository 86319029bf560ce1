"""`everlearn sweep`: many runs side by side, as a file says."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.cli.answer import Answer, Shown
from everlearn.cli.reading import check_path, read_spec
from everlearn.cli.run import RECORDS
from everlearn.cli.whole import Whole
from everlearn.errors import check_range

if TYPE_CHECKING:
    from everlearn.cli.watch_jobs import Outcome
    from everlearn.reports import Comparison
    from everlearn.runs.jobs import Job

GIGABYTE, MOST_GIGABYTES = 1_000_000_000, 1_000_000

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
Workers = Annotated[Whole | None, Parameter(show_default=False, metavar="N")]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


def sweep(
    file: Path,
    /,
    *,
    records: Folder = None,
    workers: Workers = None,
    threads: Whole = 1,
    memory: float = 1.0,
    retries: Whole = 0,
    dry_run: Flag = False,
    screen: Shown,
) -> Answer:
    """Play the runs that a file names, several at a time, those that are missing only.

    Asked to stop (Ctrl-C), all save and end; the same command goes on from there.

    Args:
        file: The .toml file of the sweep; docs/sweeps.md says what it holds.
        records: The folder for the records; records/ and the name of the file if not said.
        workers: Runs at a time; one for each core if not said.
        threads: Threads of arithmetic for each run.
        memory: Gigabytes that a run may come to need; none is started beside others while less is free.
        retries: How often a run that failed is tried again, from where it was.
        dry_run: Only list the runs, and how long they will take if that is known.
        screen: Where progress is shown.
    """
    from everlearn.cli.watch_jobs import watch_jobs
    from everlearn.runs.jobs import Capacity, Sweep, play_all

    check_range("memory", memory, 0, MOST_GIGABYTES)
    limits = {} if workers is None else {"workers": workers}
    capacity = Capacity(**limits, threads=threads, memory=int(memory * GIGABYTE))
    folder = check_path(records or RECORDS / file.stem)
    jobs = _timed(Sweep(**read_spec(file)).jobs(folder), folder)
    story = play_all(jobs, capacity=capacity, retries=retries)
    if dry_run:
        return planned(jobs, folder, capacity.workers)
    return _told(jobs, folder, watch_jobs(story, screen))


def _timed(jobs: "Sequence[Job]", folder: Path) -> "Sequence[Job]":
    """The jobs, with how long they take where earlier records tell it."""
    from everlearn.runs import list_records
    from everlearn.runs.jobs import timed

    return timed(jobs, list_records(folder)) if folder.is_dir() else jobs


def planned(jobs: "Sequence[Job]", folder: Path, workers: int) -> Answer:
    """What would be played, and how long it will take if that is known."""
    from everlearn.runs.jobs import estimate

    rows = [{**_plan(job), "settings": apart} for job, apart in zip(jobs, _apart(jobs), strict=True)]
    facts = {"records": str(folder), "runs": rows, "seconds": estimate(jobs, workers=workers)}
    return Answer(facts, lambda: _plan_view(facts))


def _plan(job: "Job") -> dict[str, Any]:
    from everlearn.runs.jobs import missing

    state = "finished" if not missing(job) else "missing" if job.record() is None else "begun"
    spec = job.spec
    played = {"learner": spec.learner.name, "stream": spec.stream.kind, "seed": spec.seed}
    return {"record": str(job.folder), **played, "state": state}


def _apart(jobs: "Sequence[Job]") -> list[dict[str, Any]]:
    """Of each run the settings, besides seeds, in which those of its learner and stream are not all alike."""
    from everlearn.runs.jobs.estimates import SEEDS

    specs = [_settings(job) for job in jobs]
    kin: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for spec in specs:
        kin.setdefault(_kind(spec), []).append(spec)
    differ = {
        kind: [name for name in alike[0] if any(spec.get(name) != alike[0][name] for spec in alike)]
        for kind, alike in kin.items()
    }
    return [{name: spec.get(name) for name in differ[_kind(spec)] if name not in SEEDS} for spec in specs]


def _settings(job: "Job") -> dict[str, Any]:
    """Everything about a run by the names that --set takes."""
    from everlearn.runs.differences import flat

    spec = flat(job.spec.to_mapping())
    return {name.replace("learner.settings.", "learner."): value for name, value in spec.items()}


def _kind(spec: dict[str, Any]) -> tuple[str, str]:
    return spec["learner.name"], spec["stream.stream"]


def _plan_view(facts: dict[str, Any]) -> Any:
    from rich.console import Group

    from everlearn.cli.catalogue import table
    from everlearn.cli.watch_jobs import sentence
    from everlearn.runs.jobs.events import Begun

    rows = facts["runs"]
    n_finished = sum(row["state"] == "finished" for row in rows)
    total = sentence(Begun(len(rows), n_finished, facts["seconds"]))
    return Group(table(tuple(rows[0]), map(_cells, rows)), f"\n{total}")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    apart = ", ".join(f"{name} {value}" for name, value in row["settings"].items())
    return (*(str(row[name]) for name in row if name != "settings"), apart)


def _told(jobs: "Sequence[Job]", folder: Path, outcome: "Outcome") -> Answer:
    """The table over all runs that have begun, and what became of the others."""
    from everlearn.reports import compare

    begun = [record for job in jobs if (record := job.record()) is not None and record.n_tasks_played]
    comparison = compare(begun) if begun else None
    facts = {
        "records": str(folder),
        "runs": len(jobs),
        **outcome.facts(),
        "rows": [] if comparison is None else comparison.rows,
    }
    return Answer(facts, lambda: _view(comparison, outcome, folder), outcome.code)


def _view(comparison: "Comparison | None", outcome: "Outcome", folder: Path) -> Any:
    from rich.console import Group

    where = f"The records are in {folder}; look closer with `everlearn report {folder}`"
    return Group(*([] if comparison is None else [comparison.table()]), *outcome.lines(), where)
