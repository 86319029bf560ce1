"""Short jobs, and one that is long enough to be interrupted."""

import os
from pathlib import Path
from typing import Any

from everlearn.runs import Record, RunSpec, record
from everlearn.runs.sweep import Job

TINY = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "stream.split": [8, 3, 3],
    "stream.held_out": 2,
    "n_tasks": 2,
}
LONG = {"n_tasks": 600, "evaluation.n_images": 10, "evaluation.every_n_tasks": 100}


def tiny_job(folder: Path, *protocols: tuple[str, ...], **settings: Any) -> Job:
    spec = RunSpec.make(learner="nearest", settings={**TINY, **settings})
    return Job(spec=spec, folder=folder, protocols=protocols)


def failing_job(folder: Path) -> Job:
    """A job whose dataset does not exist."""
    return Job(spec=RunSpec.make(stream="mnist", settings={"stream.data": "/nowhere"}), folder=folder)


def run_here(job: Job) -> Record:
    """The record of a job that is run in this process."""
    for _ in record(job.spec, job.folder, name=job.name):
        pass
    return Record(job.folder)


def process_of(folder: Path) -> int:
    """The process that writes to a record, according to its lock."""
    words = (folder / ".lock").read_text().split()
    assert words[0] == "process"
    assert int(words[1]) != os.getpid()
    return int(words[1])
