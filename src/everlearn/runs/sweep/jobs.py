"""How long it will take, where that is known."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.runs.run_record import SPEC, Record, begin, check_folder, check_free, check_name
from everlearn.runs.spec import RunSpec
from everlearn.settings import differences, flatten


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run, where its record is, and what is asked of its learner afterwards.

    Attributes:
        spec: what is played.
        folder: where the record is, or will be.
        asks: protocols, each in the words that `everlearn evaluate` takes, without the record.
        name: what people call the run; it decides nothing.
        seconds: how long all of it takes on one core, if that is known.

    Example:
        >>> spec = RunSpec.make(learner="nearest", settings={"n_tasks": 2})
        >>> job = Job(spec=spec, folder=Path("records/none-yet"), asks=(("one-shot", "--n-new", "10"),))
        >>> [" ".join(act.words) for act in missing(job)]
        ['resume records/none-yet', 'evaluate one-shot records/none-yet --n-new 10']
    """

    spec: RunSpec
    folder: Path
    asks: tuple[tuple[str, ...], ...] = ()
    name: str | None = None
    seconds: float | None = None

    @property
    def title(self) -> str:
        """What it is called on a screen; a name may be shared by the runs of several seeds."""
        return self.folder.name

    @property
    def names(self) -> tuple[str, str]:
        """What it is called, and the folder of its record, as events say them."""
        return self.title, str(self.folder)

    def record(self) -> Record | None:
        """The record, once there is one."""
        return Record(self.folder) if (self.folder / SPEC).is_file() else None

    def begin(self) -> None:
        """Make the record, if there is none yet; whoever plays it then goes on from its beginning."""
        if self.record() is None:
            begin(self.folder, self.spec.to_json(), self.name)


@dataclass(frozen=True)
class Act:
    """A part of a job that is done in one go: a command of everlearn.

    Attributes:
        doing: two words for people.
        words: the command.
    """

    doing: str
    words: tuple[str, ...]


def missing(job: Job) -> tuple[Act, ...]:
    """What is left to do of a job, in order; nothing if it is finished."""
    folder, record = str(job.folder), job.record()
    asks = {name: Act(f"asking {name}", ("evaluate", name, folder, *rest)) for name, *rest in job.asks}
    if record is None or not record.is_finished:
        return (Act("playing", ("resume", folder)), *asks.values())
    answers = record.protocol_results() if asks else {}
    return tuple(act for question, act in asks.items() if question not in answers)


def check(jobs: Iterable[Job]) -> Sequence[Job]:
    """The jobs themselves, or a complaint about the first that could never be done."""
    seen: dict[Path, Job] = {}
    for job in jobs:
        _check_place(job)
        _check_asks(job)
        if seen.setdefault(job.folder.absolute(), job) is not job:
            raise BadInput(f"two jobs have the folder {job.folder}; give each its own")
    return tuple(seen.values())


def _check_place(job: Job) -> None:
    check_folder(job.folder)
    if job.name is not None:
        check_name(job.name)
    record = job.record()
    if record is None:
        check_free(job.folder)
    elif changed := differences(record.spec, job.spec.to_mapping()):
        raise BadInput(f"{job.folder} plays something else: {'; '.join(changed)}; choose a new folder")


def _check_asks(job: Job) -> None:
    questions = [ask[0] for ask in job.asks if ask]
    if len(questions) < len(job.asks):
        raise BadInput(
            f"{job.title} asks nothing in one of its asks; write words such as one-shot --n-new 10"
        )
    if len(set(questions)) < len(questions):
        raise BadInput(f"{job.title} asks one question twice; a record keeps one answer to each")


SEEDS = ("seed", "stream.seed")


def estimate(jobs: Iterable[Job], *, workers: int) -> float | None:
    """Seconds until everything that is missing is done; None if of any such job it is not known.

    Example:
        >>> from pathlib import Path
        >>> from everlearn.runs import RunSpec
        >>> spec = RunSpec.make(learner="nearest")
        >>> jobs = [Job(spec=spec, folder=Path(f"none-yet/{n}"), seconds=60) for n in range(4)]
        >>> estimate(jobs, workers=2)
        120.0
    """
    rest = [_rest(job) for job in jobs if missing(job)]
    known = [seconds for seconds in rest if seconds is not None]
    if len(known) < len(rest):
        return None
    # However many hands there are, one job is for one of them.
    return max(math.fsum(known) / workers, *known, 0.0)


def timed(jobs: Iterable[Job], records: Iterable[Record]) -> list[Job]:
    """The jobs, each with the mean time of finished records that differ from it in nothing but seeds."""
    times: dict[str, list[float]] = {}
    for record in records:
        if record.is_finished:
            times.setdefault(_but_seeds(record.spec), []).append(_played(record))
    found = ((job, times.get(_but_seeds(job.spec.to_mapping()))) for job in jobs)
    return [
        replace(job, seconds=math.fsum(several) / len(several)) if several else job for job, several in found
    ]


def _but_seeds(spec: Mapping[str, Any]) -> str:
    return json.dumps(
        {name: value for name, value in flatten(spec, keep_none=False).items() if name not in SEEDS},
        sort_keys=True,
    )


def _played(record: Record) -> float:
    return math.fsum(row["seconds"] for row in record.seconds())


def _rest(job: Job) -> float | None:
    """What a job will still take, after what was played of it before."""
    if job.seconds is None:
        return None
    record = job.record()
    return max(0.0, job.seconds - (0.0 if record is None else _played(record)))
