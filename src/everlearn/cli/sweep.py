"""`everlearn sweep`: many runs side by side, as a file says."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from everlearn.cli.arguments import Whole, check_path, read_spec
from everlearn.cli.output import Answer, Shown
from everlearn.cli.run import RECORDS
from everlearn.errors import BadInput, check_range

if TYPE_CHECKING:
    from everlearn.cli.progress import Outcome
    from everlearn.reports import Comparison
    from everlearn.runs.sweep import Capacity, Job, Sweep, Where

GIGABYTE, MOST_GIGABYTES = 1_000_000_000, 1_000_000

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
Workers = Annotated[Whole | None, Parameter(show_default=False, metavar="N")]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
On = Annotated[Literal["ray"] | None, Parameter(show_default=False)]
Address = Annotated[str | None, Parameter(show_default=False, metavar="HOST:PORT")]
Many = Annotated[Whole | None, Parameter(show_default=False, metavar="N")]
Much = Annotated[float | None, Parameter(show_default=False, metavar="X")]


def sweep(
    file: Path,
    /,
    *,
    records: Folder = None,
    on: On = None,
    address: Address = None,
    workers: Workers = None,
    threads: Many = None,
    memory: Much = None,
    gpus: Much = None,
    retries: Whole = 0,
    dry_run: Flag = False,
    screen: Shown,
) -> Answer:
    """Play the runs that a file names, several at a time, those that are missing only.

    Asked to stop (Ctrl-C), all save and end; the same command goes on from there.

    Args:
        file: The .toml file of the sweep; docs/sweeps.md says what it holds.
        records: The folder for the records; records/ and the name of the file if not said.
        on: Where they are played: ray, for the nodes of a Ray cluster; this machine if not said.
        address: The head of the Ray cluster; the cluster of this machine if not said.
        workers: Runs at a time; one for each core, or as many as a cluster has room for, if not said.
        threads: Threads of arithmetic for each run, and CPUs that a cluster sets aside for it; 1 if not said.
        memory: Gigabytes that a run may come to need, 1 if not said; none is started beside others while
            less is free.
        gpus: GPUs that a cluster sets aside for each run, or a share of one such as 0.5; none if not said.
        retries: How often a run that failed is tried again, from where it was.
        dry_run: Only list the runs, and how long they will take if that is known.
        screen: Where progress is shown.
    """
    from everlearn.cli.progress import watch_jobs
    from everlearn.runs.sweep import Sweep, play_all

    where, folder = place(on, address), check_path(records or RECORDS / file.stem)
    named = Sweep(**read_spec(file))
    said = {"workers": workers, "threads": threads, "memory": memory, "gpus": gpus}
    capacity = _capacity(named, said, is_here=on is None)
    jobs = _timed(named.jobs(folder), folder)
    story = play_all(jobs, capacity=capacity, where=where, retries=retries)
    if dry_run:
        return planned(jobs, folder, capacity.here if on is None else workers)
    return _told(jobs, folder, watch_jobs(story, screen))


def place(on: str | None, address: str | None) -> "Where":
    """Where work is done, in the words of a command line."""
    from everlearn.runs.sweep import this_machine

    if on is None and address is not None:
        raise BadInput(f"--address is {address!r}, which only a cluster has; add --on ray, or leave it out")
    if on is None:
        return this_machine
    from everlearn.runs.sweep.ray_executor import on_ray

    return on_ray(address)


def _capacity(named: "Sweep", said: dict[str, Any], *, is_here: bool) -> "Capacity":
    """How much at once, and what each run takes; the command line goes before the file."""
    from everlearn.runs.sweep import Capacity

    taken = {**named.resources, **{name: value for name, value in said.items() if value is not None}}
    if "memory" in taken:
        check_range("memory", taken["memory"], 0, MOST_GIGABYTES)
        taken["memory"] = int(taken["memory"] * GIGABYTE)
    if is_here and taken.get("gpus"):
        raise BadInput(
            f"gpus is {taken['gpus']}, but only a cluster sets GPUs aside; add --on ray or --gpus 0"
        )
    return Capacity(**taken)


def _timed(jobs: "Sequence[Job]", folder: Path) -> "Sequence[Job]":
    """The jobs, with how long they take where earlier records tell it."""
    from everlearn.runs import list_records
    from everlearn.runs.sweep import timed

    return timed(jobs, list_records(folder)) if folder.is_dir() else jobs


def planned(jobs: "Sequence[Job]", folder: Path, workers: int | None) -> Answer:
    """What would be played, and how long it will take if that, and how many work at it, is known."""
    from everlearn.runs.sweep import estimate

    rows = [{**_plan(job), "settings": apart} for job, apart in zip(jobs, _apart(jobs), strict=True)]
    seconds = None if workers is None else estimate(jobs, workers=workers)
    facts = {"records": str(folder), "runs": rows, "seconds": seconds}
    return Answer(facts, lambda: _plan_view(facts))


def _plan(job: "Job") -> dict[str, Any]:
    from everlearn.runs.sweep import missing

    state = "finished" if not missing(job) else "missing" if job.record() is None else "begun"
    spec = job.spec
    played = {"learner": spec.learner.name, "stream": spec.stream.kind, "seed": spec.seed}
    return {"record": str(job.folder), **played, "state": state}


def _apart(jobs: "Sequence[Job]") -> list[dict[str, Any]]:
    """Of each run the settings, besides seeds, in which those of its learner and stream are not all alike."""
    from everlearn.runs.sweep.jobs import SEEDS

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
    from everlearn.settings import flatten

    spec = flatten(job.spec.to_mapping())
    return {name.replace("learner.settings.", "learner."): value for name, value in spec.items()}


def _kind(spec: dict[str, Any]) -> tuple[str, str]:
    return spec["learner.name"], spec["stream.stream"]


def _plan_view(facts: dict[str, Any]) -> Any:
    from rich.console import Group

    from everlearn.cli.output import table
    from everlearn.cli.progress import sentence
    from everlearn.runs.sweep.events import Begun

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
