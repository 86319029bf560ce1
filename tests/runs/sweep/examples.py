"""Jobs that take moments, and one that lasts long enough for something to happen to it."""

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
LONG = {"n_tasks": 600, "evaluation.probe_size": 10, "evaluation.every": 100}


def job(folder: Path, *asks: tuple[str, ...], **settings: Any) -> Job:
    spec = RunSpec.make(learner="nearest", settings={**TINY, **settings})
    return Job(spec=spec, folder=folder, asks=asks)


def hopeless(folder: Path) -> Job:
    """A job whose images are nowhere."""
    return Job(spec=RunSpec.make(stream="mnist", settings={"stream.data": "/nowhere"}), folder=folder)


def played(job: Job) -> Record:
    """The record of a job that is played here and now."""
    for _ in record(job.spec, job.folder, name=job.name):
        pass
    return Record(job.folder)


def player(folder: Path) -> int:
    """The process that plays into a record, as its lock says."""
    words = (folder / ".lock").read_text().split()
    assert words[0] == "process"
    assert int(words[1]) != os.getpid()
    return int(words[1])
