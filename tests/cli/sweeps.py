"""A sweep in another process that is disturbed, for tests with and without Ray."""

import fcntl
import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from everlearn.reports import compare
from everlearn.runs import Record, list_records, record
from everlearn.runs.progress import read_progress
from everlearn.runs.sweep import Job, Sweep

TIMES = ("seconds", "answer_ms")
"""Starts of the names of columns that differ from run to run."""
N_TASKS = 300
SWEEP: dict[str, Any] = {
    "learners": ["nearest"],
    "seeds": [0, 1],
    "resources": {"memory": 0.5},
    "settings": {
        "n_tasks": N_TASKS,
        "stream": {"image_size": 16, "factor_values": 2, "split": [8, 3, 3], "classes_per_task": 2},
        "evaluation": {"n_images": 10, "every_n_tasks": 100},
    },
}

Process = subprocess.Popen[bytes]


def start(folder: Path, *command: str | Path, env: dict[str, str] | None = None) -> Process:
    """Start the sweep; its output goes to output.txt."""
    (folder / "sweep.json").write_text(json.dumps(SWEEP))
    words = [*command, "sweep", "sweep.json", "--retries", "1", "--records", "."]
    with (folder / "output.txt").open("ab") as output:
        return subprocess.Popen(words, cwd=folder, env=env, stdout=output, stderr=output)


def output(folder: Path) -> str:
    return (folder / "output.txt").read_text()


def jobs_in(folder: Path) -> list[Job]:
    return Sweep(**SWEEP).jobs(folder)


def n_done(job: Job) -> int:
    return 0 if job.record() is None else int(read_progress(Record(job.folder)).done)


def wait_for_tasks(sweep: Process, job: Job, n_tasks: int) -> None:
    """Until a run has finished some tasks, or the sweep has ended."""
    while sweep.poll() is None and n_done(job) < n_tasks:
        time.sleep(0.01)


def process_of(job: Job) -> int:
    """The process that writes to a record."""
    return int((job.folder / ".lock").read_text().split()[1])


def wait_until_unlocked(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if (job.folder / ".lock").exists():
            with (job.folder / ".lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)


def results(records: list[Record]) -> list[dict[str, Any]]:
    """The comparison of runs, without folders and times."""
    return [
        {name: row[name] for name in row if name != "records" and not name.startswith(TIMES)}
        for row in compare(records).rows
    ]


def serial_results(folder: Path) -> list[dict[str, Any]]:
    """The results of the sweep, run one by one in this process."""
    for job in jobs_in(folder):
        for _ in record(job.spec, job.folder):
            pass
    return results(list_records(folder))
