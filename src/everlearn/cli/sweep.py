"""`everlearn sweep`: many runs in parallel."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from everlearn import reports, runs
from everlearn.cli.arguments import Assignments, Flag, Whole, check_path, read_assignments, read_spec
from everlearn.cli.output import CommandResult, ConsoleArg, table
from everlearn.cli.run import RECORDS
from everlearn.errors import BadInput, check_range
from everlearn.runs import sweep as sweeps

if TYPE_CHECKING:
    from everlearn.cli.progress import SweepOutcome

GIGABYTE, MAX_GIGABYTES = 1_000_000_000, 1_000_000

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
OptionalInt = Annotated[Whole | None, Parameter(show_default=False, metavar="N")]
OptionalFloat = Annotated[float | None, Parameter(show_default=False, metavar="X")]
On = Annotated[Literal["ray", "slurm"] | None, Parameter(show_default=False)]
Address = Annotated[str | None, Parameter(show_default=False, metavar="HOST:PORT")]


def sweep(
    file: Path,
    /,
    *,
    records: Folder = None,
    on: On = None,
    address: Address = None,
    slurm: Assignments = (),
    workers: OptionalInt = None,
    threads: OptionalInt = None,
    memory: OptionalFloat = None,
    gpus: OptionalFloat = None,
    retries: Whole = 0,
    dry_run: Flag = False,
    console: ConsoleArg,
) -> CommandResult:
    """Run the runs of a sweep file that are not finished yet, several at a time.

    After Ctrl-C all runs save and end; the same command continues them.

    Args:
        file: The .toml file of the sweep; see docs/sweeps.md.
        records: Folder for the records; default: records/ and the name of the file.
        on: ray, for the nodes of a Ray cluster, or slurm, for Slurm jobs; default: this machine.
        address: Head of the Ray cluster; default: the cluster of this machine.
        slurm: An option of sbatch, repeatable, such as partition=gpu or time=720.
        workers: Runs at a time; default: one per core or GPU, or as many as fit on the cluster.
        threads: CPU threads per run; default: 1.
        memory: Gigabytes per run, default: 1; on this machine no run starts while less is free.
        gpus: GPUs per run, or a fraction such as 0.5; default: 1 on a machine with GPUs, 0 on a cluster.
        retries: How often a failed run is continued from its last checkpoint.
        dry_run: List the runs and the estimated time only.
    """
    from everlearn.cli.progress import show_sweep

    executor, folder = choose_executor(on, address, slurm), check_path(records or RECORDS / file.stem)
    described = sweeps.Sweep(**read_spec(file))
    options = {"workers": workers, "threads": threads, "memory": memory, "gpus": gpus}
    jobs: Sequence[sweeps.Job] = described.jobs(folder)
    default = {"gpus": default_gpus(jobs)} if on is None else {}
    capacity = _capacity({**default, **described.resources}, options)
    at_a_time = sweeps.LocalExecutor(capacity).workers if on is None else workers
    if folder.is_dir():
        jobs = sweeps.with_durations(jobs, runs.list_records(folder))
    events = sweeps.run_jobs(jobs, capacity=capacity, executor=executor, retries=retries)
    if dry_run:
        return plan(jobs, folder, at_a_time)
    return _result(jobs, folder, show_sweep(events, console))


def choose_executor(
    on: str | None, address: str | None, slurm: tuple[str, ...] = ()
) -> "sweeps.ExecutorFactory":
    """The executor for --on, --address and --slurm."""
    if on != "ray" and address is not None:
        raise BadInput(f"--address is {address!r}, but only a Ray cluster has one; add --on ray, or omit it")
    if on != "slurm" and slurm:
        raise BadInput(
            f"--slurm is {slurm[0]!r}, but only Slurm jobs have options; add --on slurm, or omit it"
        )
    if on is None:
        return sweeps.local_executor
    if on == "slurm":
        from everlearn.runs.sweep.slurm_executor import on_slurm

        return on_slurm(read_assignments(slurm, example="partition=gpu"))
    from everlearn.runs.sweep.ray_executor import on_ray

    return on_ray(address)


def default_gpus(jobs: "Sequence[sweeps.Job]") -> int:
    """One GPU per run if this machine has some and a run may use them, else 0."""
    may_use = any(job.spec.device == "auto" or job.spec.device.startswith("cuda") for job in jobs)
    return int(may_use and bool(sweeps.available_gpus()))


def _capacity(resources: dict[str, Any], options: dict[str, Any]) -> "sweeps.Capacity":
    """Options take precedence over the resources in the sweep file."""
    values = {**resources, **{name: value for name, value in options.items() if value is not None}}
    if "memory" in values:
        check_range("memory", values["memory"], 0, MAX_GIGABYTES)
        values["memory"] = int(values["memory"] * GIGABYTE)
    return sweeps.Capacity(**values)


def plan(jobs: "Sequence[sweeps.Job]", folder: Path, workers: int | None) -> CommandResult:
    """The runs, their states and the estimated time, if known."""
    rows = [
        {**_plan_row(job), "settings": settings}
        for job, settings in zip(jobs, _distinct_settings(jobs), strict=True)
    ]
    seconds = None if workers is None else sweeps.estimate_seconds(jobs, workers=workers)
    data = {"records": str(folder), "runs": rows, "seconds": seconds}
    return CommandResult(data, lambda: _plan_table(data))


def _plan_row(job: "sweeps.Job") -> dict[str, Any]:
    state = (
        "finished" if not sweeps.pending_commands(job) else "missing" if job.record() is None else "started"
    )
    run = {"learner": job.spec.learner.name, "stream": job.spec.stream.kind, "seed": job.spec.seed}
    return {"record": str(job.folder), **run, "state": state}


def _distinct_settings(jobs: "Sequence[sweeps.Job]") -> list[dict[str, Any]]:
    """For each run, the settings without seeds that differ among the runs of its learner and stream."""
    from everlearn.runs.sweep.jobs import SEEDS
    from everlearn.settings import flatten

    specs = [
        {name.replace("learner.settings.", "learner."): value for name, value in flat.items()}
        for flat in (flatten(job.spec.to_mapping()) for job in jobs)
    ]
    kinds = [(spec["learner.name"], spec["stream.stream"]) for spec in specs]
    distinct = {}
    for kind in set(kinds):
        first, *rest = (spec for spec, each in zip(specs, kinds, strict=True) if each == kind)
        changed = [name for name in first if any(spec.get(name) != first[name] for spec in rest)]
        distinct[kind] = [name for name in changed if name not in SEEDS]
    return [
        {name: spec.get(name) for name in distinct[kind]} for spec, kind in zip(specs, kinds, strict=True)
    ]


def _plan_table(data: dict[str, Any]) -> Any:
    from rich.console import Group

    from everlearn.cli.progress import message
    from everlearn.runs.events import SweepStarted

    rows = data["runs"]
    n_finished = sum(row["state"] == "finished" for row in rows)
    total = message(SweepStarted(len(rows), n_finished, data["seconds"]))
    return Group(table(tuple(rows[0]), map(_plan_cells, rows)), f"\n{total}")


def _plan_cells(row: dict[str, Any]) -> tuple[str, ...]:
    settings = ", ".join(f"{name} {value}" for name, value in row["settings"].items())
    return (*(str(row[name]) for name in row if name != "settings"), settings)


def _result(jobs: "Sequence[sweeps.Job]", folder: Path, outcome: "SweepOutcome") -> CommandResult:
    """A comparison of all runs that have finished a task, and failures."""
    started = [record for job in jobs if (record := job.record()) is not None and record.n_tasks_done]
    comparison = reports.compare(started) if started else None
    rows = [] if comparison is None else comparison.rows
    data = {"records": str(folder), "runs": len(jobs), **outcome.data(), "rows": rows}
    return CommandResult(data, lambda: _overview(comparison, outcome, folder), outcome.exit_code)


def _overview(comparison: "reports.Comparison | None", outcome: "SweepOutcome", folder: Path) -> Any:
    from rich.console import Group

    where = f"The records are in {folder}; `everlearn report {folder}` writes a report"
    return Group(*([] if comparison is None else [comparison.text()]), *outcome.messages(), where)
