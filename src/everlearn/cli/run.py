"""`everlearn run` and `everlearn resume`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn import runs
from everlearn.cli.arguments import ANY_RUN, RUN, RunChoice, Whole
from everlearn.cli.output import SIGNAL_OFFSET, CommandResult, Console, ConsoleArg
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.runs.events import Event

RECORDS = Path("records")
"""Default folder of records."""

Folder = Annotated[
    Path | None, Parameter(name=["--record", "-r"], show_default=False, metavar="DIR", group=RUN)
]
Name = Annotated[str | None, Parameter(show_default=False, group=RUN)]
Processes = Annotated[Whole, Parameter(metavar="N", group=RUN)]
Log = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, metavar="TRACKER", group=RUN)]


def run(
    choice: RunChoice = ANY_RUN,
    *,
    record: Folder = None,
    name: Name = None,
    processes: Processes = 1,
    log: Log = (),
    console: ConsoleArg,
) -> CommandResult | None:
    """Train a learner on a stream. The run is recorded and can be resumed after a crash.

    Args:
        choice: The run.
        record: Folder of the record; default: a new one in records/.
        name: Name of the run in lists and figures.
        processes: Data-parallel processes; under torchrun, those that it started.
        log: Show losses and accuracies in tensorboard, wandb or mlflow, repeatable; tensorboard=DIR,
            wandb=PROJECT and mlflow=URI say where.
    """
    if _follow():
        return None
    trackers = _read_trackers(log)
    spec = choice.build()
    folder = record or RECORDS / runs.folder_name(name or spec.title, spec.hash)
    exists = runs.has_record(runs.check_folder(folder))
    if exists:
        runs.Record(folder).check_spec(spec.to_mapping())
    with runs.process_group(spec, processes=processes):
        resumes = exists and _is_restarted()
        events = runs.resume(folder) if resumes else runs.record(spec, folder, name=name)
        saved = runs.Record(folder)
        stopped = run_events(_tracked(events, saved, trackers), saved, console)
    return _result(saved, stopped)


def resume(
    record: Path, /, *, processes: Processes = 1, log: Log = (), console: ConsoleArg
) -> CommandResult | None:
    """Resume a run from its newest checkpoint. The result is the same as without the interruption.

    Args:
        record: Folder of the record.
        processes: Data-parallel processes; another number than before changes the last bits.
        log: Trackers, as for `everlearn run`; their curves are continued, or made from the record.
    """
    if _follow():
        return None
    trackers, saved = _read_trackers(log), runs.Record(record)
    with runs.process_group(runs.RunSpec.from_record(saved), processes=processes):
        stopped = run_events(_tracked(runs.resume(record), saved, trackers), saved, console)
    return _result(saved, stopped)


def run_events(events: "Iterator[Event]", record: "runs.Record", console: Console) -> "runs.Stopped | None":
    """Run to the end behind a progress bar; returns why it stopped early, if it did."""
    from everlearn.cli.progress import show_run

    with console.progress(f"{record.spec['learner']['name']}, task") as update:
        try:
            show_run(events, record, update)
        except runs.Stopped as stopped:
            return stopped
    return None


def run_or_resume(folder: Path, spec: "runs.RunSpec", console: Console) -> "runs.Record":
    """The finished record of a spec; runs what is not in the folder yet."""
    events = runs.resume(folder, spec) if runs.has_record(folder) else runs.record(spec, folder)
    record = runs.Record(folder)
    stopped = run_events(events, record, console)
    if stopped is not None:
        raise BadInput(f"{stopped}, or repeat this command")
    return record


def rerun(record: "runs.Record", *, console: Console, **change: Any) -> "runs.Record":
    """The finished record of a run with other settings, in a folder beside the original."""
    name = "-".join([record.folder.name, *(f"{key}-{value}" for key, value in change.items())])
    spec = runs.RunSpec.from_mapping({**record.spec, **change})
    return run_or_resume(record.folder.parent / name, spec, console)


def _read_trackers(log: tuple[str, ...]) -> dict[str, str | None]:
    """Names and places of trackers, written as NAME or NAME=PLACE."""
    pairs = [word.partition("=") for word in log]
    for name, _, _ in pairs:
        runs.trackers.check_tracker(name)
    return {name: place or None for name, _, place in pairs}


def _tracked(
    events: "Iterator[Event]", record: "runs.Record", trackers: dict[str, str | None]
) -> "Iterator[Event]":
    for name, place in trackers.items():
        events = runs.track(events, record, name, place)
    return events


def _follow() -> bool:
    """Whether this process is another rank than 0 of a data-parallel run; if so, it has finished its part."""
    from everlearn.runs.distributed import RankInfo, follow_rank_0, joined_group

    info = RankInfo.from_environment()
    if info is None or info.rank == 0:
        return False
    with joined_group(info):
        follow_rank_0()
    return True


def _is_restarted() -> bool:
    """Whether torchrun has restarted this command after a process was lost."""
    from everlearn.runs.distributed import RankInfo

    info = RankInfo.from_environment()
    return info is not None and info.restart > 0


def _result(record: "runs.Record", stopped: "runs.Stopped | None") -> CommandResult:
    from everlearn.cli.records import record_result

    if stopped is None:
        return record_result(record)
    return record_result(record, note=str(stopped), exit_code=SIGNAL_OFFSET + stopped.signal)
