"""How long it will take, where that is known."""

import math
from collections.abc import Iterable

from everlearn.runs.jobs.job import Job, missing


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


def _rest(job: Job) -> float | None:
    """What a job will still take, after what was played of it before."""
    if job.seconds is None:
        return None
    record = job.record()
    played = math.fsum(row["seconds"] for row in record.seconds()) if record is not None else 0.0
    return max(0.0, job.seconds - played)
