"""How long it will take, where that is known."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from everlearn.runs.differences import said
from everlearn.runs.jobs.job import Job, missing
from everlearn.runs.records import Record

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
        {name: value for name, value in said(spec).items() if name not in SEEDS}, sort_keys=True
    )


def _played(record: Record) -> float:
    return math.fsum(row["seconds"] for row in record.seconds())


def _rest(job: Job) -> float | None:
    """What a job will still take, after what was played of it before."""
    if job.seconds is None:
        return None
    record = job.record()
    return max(0.0, job.seconds - (0.0 if record is None else _played(record)))
