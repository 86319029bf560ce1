"""Jobs of a sweep: runs with their protocols, pending commands, and estimated durations."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.registry import is_reference
from everlearn.runs.run_record import (
    Record,
    check_can_create,
    check_folder,
    check_name,
    has_record,
)
from everlearn.runs.spec import RunSpec
from everlearn.settings import flatten

SEEDS = ("seed", "stream.seed")


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run, the folder of its record, and evaluation protocols to run afterwards.

    Example:
        >>> spec = RunSpec.make(learner="nearest", settings={"n_tasks": 2})
        >>> job = Job(spec=spec, folder=Path("records/a"), protocols=(("one-shot", "--n-new", "10"),))
        >>> [" ".join(command.arguments) for command in pending_commands(job)]
        ['resume records/a', 'evaluate one-shot records/a --n-new 10']
    """

    spec: RunSpec
    folder: Path  # of the record
    protocols: tuple[tuple[str, ...], ...] = ()  # names and options, as for `everlearn evaluate`
    name: str | None = None  # for people; it does not affect the run
    seconds: float | None = None  # duration of the whole job on one core, if known

    @property
    def title(self) -> str:
        """The name of the job in messages; `name` may be shared by the runs of several seeds."""
        return self.folder.name

    @property
    def names(self) -> tuple[str, str]:
        """Title and folder, the first fields of events."""
        return self.title, str(self.folder)

    def record(self) -> Record | None:
        """The record, if it exists."""
        return Record(self.folder) if has_record(self.folder) else None

    def create_record(self) -> None:
        """Create the record if it does not exist."""
        if self.record() is None:
            self.spec.create_record(self.folder, self.name).release()


@dataclass(frozen=True)
class Command:
    """An everlearn command that is one stage of a job."""

    stage: str
    arguments: tuple[str, ...]


def pending_commands(job: Job) -> tuple[Command, ...]:
    """The commands that remain for a job, in order; none if it is finished."""
    folder, record = str(job.folder), job.record()
    protocols = {name: Command(name, ("evaluate", name, folder, *rest)) for name, *rest in job.protocols}
    if record is None or not record.is_finished:
        return (Command("training", ("resume", folder)), *protocols.values())
    results = record.protocol_results() if protocols else {}
    return tuple(command for name, command in protocols.items() if _result_name(name) not in results)


def _result_name(protocol: str) -> str:
    """The name of a protocol's result in a record; the protocol itself may be named by a file."""
    if not is_reference(protocol):
        return protocol
    from everlearn.evaluation import protocols

    return protocols.get(protocol).name


def check_jobs(jobs: Iterable[Job]) -> Sequence[Job]:
    """The jobs; raises an error for the first that cannot be run."""
    seen: dict[Path, Job] = {}
    for job in jobs:
        _check_folder(job)
        _check_protocols(job)
        if seen.setdefault(job.folder.absolute(), job) is not job:
            raise BadInput(f"two jobs have the folder {job.folder}; use a folder for each")
    return tuple(seen.values())


def _check_folder(job: Job) -> None:
    check_folder(job.folder)
    if job.name is not None:
        check_name(job.name)
    record = job.record()
    if record is None:
        check_can_create(job.folder)
    else:
        record.check_spec(job.spec.to_mapping())


def _check_protocols(job: Job) -> None:
    from everlearn.evaluation import protocols

    names = [protocol[0] for protocol in job.protocols if protocol]
    if len(names) < len(job.protocols):
        raise BadInput(f"{job.title} has a protocol without a name; write one such as one-shot --n-new 10")
    if len(set(names)) < len(names):
        raise BadInput(f"{job.title} has a protocol twice; a record keeps one result of each")
    for name in names:
        protocols.get(name)


def estimate_seconds(jobs: Iterable[Job], *, workers: int) -> float | None:
    """Time until all pending jobs are finished; None if the duration of one is unknown.

    Example:
        >>> from pathlib import Path
        >>> from everlearn.runs import RunSpec
        >>> spec = RunSpec.make(learner="nearest")
        >>> jobs = [Job(spec=spec, folder=Path(f"records/{n}"), seconds=60) for n in range(4)]
        >>> estimate_seconds(jobs, workers=2)
        120.0
    """
    rest = [_remaining_seconds(job) for job in jobs if pending_commands(job)]
    known = [seconds for seconds in rest if seconds is not None]
    if len(known) < len(rest):
        return None
    return max(math.fsum(known) / workers, *known, 0.0)  # a job runs on one worker


def with_durations(jobs: Iterable[Job], records: Iterable[Record]) -> list[Job]:
    """The jobs, with the mean duration of finished records that differ only in seeds."""
    durations: dict[str, list[float]] = {}
    for record in records:
        if record.is_finished:
            durations.setdefault(_key_without_seeds(record.spec), []).append(_run_seconds(record))
    found = ((job, durations.get(_key_without_seeds(job.spec.to_mapping()))) for job in jobs)
    return [
        replace(job, seconds=math.fsum(several) / len(several)) if several else job for job, several in found
    ]


def _key_without_seeds(spec: Mapping[str, Any]) -> str:
    settings = {name: value for name, value in flatten(spec, keep_none=False).items() if name not in SEEDS}
    return json.dumps(settings, sort_keys=True)


def _run_seconds(record: Record) -> float:
    return math.fsum(row["seconds"] for row in record.seconds())


def _remaining_seconds(job: Job) -> float | None:
    if job.seconds is None:
        return None
    record = job.record()
    return max(0.0, job.seconds - (0.0 if record is None else _run_seconds(record)))
