"""Figure M: whoever is killed, worker or driver, a sweep ends with the table of runs played one by one."""

import fcntl
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from everlearn.reports import compare
from everlearn.runs import Record, list_records, record
from everlearn.runs.sweep import Job, Sweep, missing
from everlearn.runs.sweep.scheduler import read

from .outcomes import EVERLEARN

SWEEP: dict[str, Any] = {
    "learners": ["nearest"],
    "seeds": [0, 1],
    "settings": {
        "n_tasks": 400,
        "stream": {"image_size": 16, "factor_values": 2, "split": [8, 3, 3], "classes_per_task": 2},
        "evaluation": {"probe_size": 10, "every": 100},
    },
}
N_TASKS = 400
ROUNDS = 20

pytestmark = pytest.mark.slow


def table(records: list[Record]) -> list[dict[str, Any]]:
    """What the runs found, without where and how fast."""
    aside = ("records", "seconds", "seconds_low", "seconds_high")
    return [{name: row[name] for name in row if name not in aside} for row in compare(records).rows]


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("serial")
    for job in Sweep(**SWEEP).jobs(folder):
        for _ in record(job.spec, job.folder):
            pass
    return table(list_records(folder))


def start(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "sweep.json").write_text(json.dumps(SWEEP))
    words = [EVERLEARN, "sweep", "sweep.json", "--retries", "1", "--records", ".", "--json"]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)


def wait_for_task(driver: subprocess.Popen[bytes], job: Job, n_tasks: int) -> None:
    """Until a run has learned so many tasks, or the driver is done with everything."""
    while driver.poll() is None and (job.record() is None or read(Record(job.folder)).done < n_tasks):
        time.sleep(0.01)


def kill_worker(job: Job) -> None:
    words = (job.folder / ".lock").read_text().split()
    os.kill(int(words[1]), signal.SIGKILL)


def wait_until_free(jobs: list[Job]) -> None:
    """Until no child is at work; a child that was left behind would play to the end first."""
    for job in jobs:
        if (job.folder / ".lock").exists():
            with (job.folder / ".lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_kill_changes_nothing(tmp_path: Path, serial: list[dict[str, Any]], number: int) -> None:
    dice, jobs = random.Random(number), Sweep(**SWEEP).jobs(tmp_path)
    victim, moment = dice.choice(jobs), dice.randrange(1, N_TASKS // 2)
    with start(tmp_path) as driver:
        wait_for_task(driver, victim, moment)
        if number % 2:
            kill_worker(victim)
        else:
            driver.kill()
    if not number % 2:
        wait_until_free(jobs)
        assert missing(victim)
        driver = start(tmp_path)
    assert driver.wait() == 0
    assert table(list_records(tmp_path)) == serial
