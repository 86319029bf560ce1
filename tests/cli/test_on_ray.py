"""Figure M on a real Ray cluster: whoever is killed, the table is that of runs played one by one."""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from benchmarks.local_cluster import LocalCluster

from everlearn.reports import compare
from everlearn.runs import Record, list_records, record
from everlearn.runs.sweep import Job, Sweep, missing
from everlearn.runs.sweep.scheduler import read

from .outcomes import EVERLEARN, Outcome, Run, assert_refused, tree

N_TASKS = 300
SWEEP: dict[str, Any] = {
    "learners": ["nearest"],
    "seeds": [0, 1],
    "resources": {"memory": 0.5},
    "settings": {
        "n_tasks": N_TASKS,
        "stream": {"image_size": 16, "factor_values": 2, "split": [8, 3, 3], "classes_per_task": 2},
        "evaluation": {"probe_size": 10, "every": 100},
    },
}
SMALL = ("--image-size", "16", "--factor-values", "2", "--set", "stream.split=10,3,3")
ROUNDS = 20

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'everlearn[ray]'"),
]


class Ground(NamedTuple):
    """A cluster, a folder that its second node does not see, and the table of the sweep played one by one."""

    cluster: LocalCluster
    unseen: Path
    serial: list[dict[str, Any]]

    def command(self, *words: str) -> list[str]:
        return [str(EVERLEARN), *words, "--on", "ray", "--address", self.cluster.address]

    def sweep(self, folder: Path) -> subprocess.Popen[bytes]:
        (folder / "sweep.json").write_text(json.dumps(SWEEP))
        words = self.command("sweep", "sweep.json", "--records", ".", "--retries", "1")
        with (folder / "said.txt").open("ab") as said:
            return subprocess.Popen(words, cwd=folder, env=self.cluster.env, stdout=said, stderr=said)

    def run(self, *words: str, cwd: Path, env: dict[str, str] | None = None) -> Outcome:
        env = env or self.cluster.env
        done = subprocess.run(self.command(*words), cwd=cwd, env=env, capture_output=True, text=True)
        return Outcome(done.returncode, done.stdout, done.stderr)


def table(records: list[Record]) -> list[dict[str, Any]]:
    """What the runs found, without where and how fast."""
    aside = ("records", "seconds", "seconds_low", "seconds_high")
    return [{name: row[name] for name in row if name not in aside} for row in compare(records).rows]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder, unseen = tmp_path_factory.mktemp("serial"), tmp_path_factory.mktemp("unseen")
    for job in Sweep(**SWEEP).jobs(folder):
        for _ in record(job.spec, job.folder):
            pass
    with LocalCluster(unseen=unseen if _can_hide(unseen) else None) as cluster:
        yield Ground(cluster, unseen, table(list_records(folder)))


def _can_hide(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0"', str(folder)]
    return subprocess.run(words, capture_output=True).returncode == 0


def wait_for_task(driver: subprocess.Popen[bytes], job: Job, n_tasks: int) -> None:
    """Until a run has learned so many tasks, or the driver is done with everything."""
    while driver.poll() is None and (job.record() is None or read(Record(job.folder)).done < n_tasks):
        time.sleep(0.02)


def player(job: Job) -> psutil.Process:
    """The process that plays a run; its parent is a process of Ray's."""
    return psutil.Process(int((job.folder / ".lock").read_text().split()[1]))


def kept(job: Job) -> int:
    """Tasks that are safe in the newest checkpoint."""
    checkpoints = Record(job.folder).checkpoints
    numbers = checkpoints.numbers()
    return int(checkpoints.read(numbers[-1])["play"]["position"]["task"]) if numbers else 0


def fewest_after(driver: subprocess.Popen[bytes], job: Job) -> int:
    """From which task on a run was played again: the least that its record came to hold until the end."""
    fewest = N_TASKS
    while driver.poll() is None:
        fewest = min(fewest, read(Record(job.folder)).done)
        time.sleep(0.005)
    return fewest


def check_ended(ground: Ground, folder: Path, driver: subprocess.Popen[bytes]) -> None:
    """The sweep is whole, equal to the one played one by one, and nobody is at work for it any more."""
    assert driver.wait() == 0, (folder / "said.txt").read_text()
    assert table(list_records(folder)) == ground.serial
    assert not at_work(folder)


def at_work(folder: Path) -> list[psutil.Process]:
    """Processes that have a folder of this test in their command line."""
    found = psutil.process_iter(["cmdline"])
    return [each for each in found if any(str(folder) in word for word in each.info["cmdline"] or ())]


def wait_until_free(jobs: list[Job]) -> None:
    for job in jobs:
        if (job.folder / ".lock").exists():
            with (job.folder / ".lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)


def lose_worker(ground: Ground, folder: Path, moment: int) -> None:
    jobs = Sweep(**SWEEP).jobs(folder)
    with ground.sweep(folder) as driver:
        wait_for_task(driver, jobs[0], moment)
        safe = kept(jobs[0])
        player(jobs[0]).parent().kill()
        assert fewest_after(driver, jobs[0]) >= safe
    check_ended(ground, folder, driver)
    assert "the process or the node that had it is gone; it will be tried again" in said(folder)


def lose_node(ground: Ground, folder: Path, moment: int) -> None:
    jobs = Sweep(**SWEEP).jobs(folder)
    with ground.sweep(folder) as driver:
        for job in jobs:
            wait_for_task(driver, job, moment)
        (victim,) = [job for job in jobs if ground.cluster.has(player(job).pid)]
        safe = kept(victim)
        ground.cluster.lose_node()
        assert fewest_after(driver, victim) >= safe
    check_ended(ground, folder, driver)
    ground.cluster.add_node()


def lose_driver(ground: Ground, folder: Path, moment: int) -> None:
    jobs = Sweep(**SWEEP).jobs(folder)
    with ground.sweep(folder) as driver:
        wait_for_task(driver, jobs[0], moment)
        driver.kill()
    wait_until_free(jobs)
    assert missing(jobs[0])  # nobody played on
    safe = {job.folder: kept(job) for job in jobs if job.record() is not None}
    with ground.sweep(folder) as driver:
        assert fewest_after(driver, jobs[0]) >= safe[jobs[0].folder]
    check_ended(ground, folder, driver)


def said(folder: Path) -> str:
    return (folder / "said.txt").read_text()


@pytest.mark.parametrize("lose", [lose_worker, lose_node, lose_driver])
def test_what_is_lost_goes_on_elsewhere(ground: Ground, tmp_path: Path, lose: Any) -> None:
    lose(ground, tmp_path, moment=40)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_kill_changes_nothing(ground: Ground, tmp_path: Path, number: int) -> None:
    dice = random.Random(number)
    lose = (lose_worker, lose_node, lose_driver)[number % 3]
    lose(ground, tmp_path, moment=dice.randrange(1, N_TASKS // 2))


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_asked_to_stop_all_save_and_nobody_stays(
    ground: Ground, tmp_path: Path, number: signal.Signals
) -> None:
    jobs = Sweep(**SWEEP).jobs(tmp_path)
    with ground.sweep(tmp_path) as driver:
        wait_for_task(driver, jobs[0], 20)
        os.kill(driver.pid, number)
    assert driver.returncode == 128 + number, said(tmp_path)
    assert "stopping: waiting for" in said(tmp_path)
    assert not at_work(tmp_path)
    assert kept(jobs[0]) == read(Record(jobs[0].folder)).done >= 20


@pytest.mark.slow
def test_a_second_driver_is_refused(ground: Ground, tmp_path: Path) -> None:
    jobs = Sweep(**SWEEP).jobs(tmp_path)
    with ground.sweep(tmp_path) as driver:
        wait_for_task(driver, jobs[0], 1)
        outcome = ground.run("sweep", "sweep.json", "--records", ".", cwd=tmp_path)
        driver.send_signal(signal.SIGINT)
    assert_refused(outcome)
    assert "is being played by process" in outcome.err


def test_storage_that_a_node_does_not_see_is_refused(ground: Ground, tmp_path: Path) -> None:
    if not _can_hide(ground.unseen):
        pytest.skip("folders cannot be hidden from a process here, which takes the rights of root")
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP))
    outcome = ground.run("sweep", "sweep.json", "--records", str(ground.unseen), cwd=tmp_path)
    assert_refused(outcome)
    assert f"(127.0.0.3) does not see the folder {ground.unseen} as this machine does" in outcome.err
    assert [each.name for each in ground.unseen.iterdir()] == [".lock"]


def test_more_than_any_node_has_is_refused(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP))
    outcome = ground.run("sweep", "sweep.json", "--gpus", "1", cwd=tmp_path)
    assert_refused(outcome)
    assert "no node of the cluster has 1 CPUs, 1 GPUs and 0.5 GB of memory for a run" in outcome.err


@pytest.mark.slow
def test_a_wrong_token_is_refused(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP))
    (tmp_path / "token").write_text("0" * 64)
    stranger = {**ground.cluster.env, "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    outcome = ground.run("sweep", "sweep.json", cwd=tmp_path, env=stranger)
    assert_refused(outcome)
    assert "with its token if it has one" in outcome.err


@pytest.mark.parametrize("to", ["webdataset", pytest.param("parquet", marks=pytest.mark.slow)])
def test_an_export_is_the_same_byte_for_byte(ground: Ground, tmp_path: Path, run: Run, to: str) -> None:
    words = ("stream", "export", *SMALL, "--to", to, "--tasks", "0:8", "--out")
    assert run(*words, str(tmp_path / "alone")).code == 0
    outcome = ground.run(*words, "together", cwd=tmp_path)
    assert (outcome.code, outcome.err.count("Traceback")) == (0, 0), outcome
    assert tree(tmp_path / "together") == tree(tmp_path / "alone")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--address", "127.0.0.2:1", "--on", "ray"), "no Ray cluster answers at 127.0.0.2:1"),
        (("--address", "nonsense", "--on", "ray"), "the address 'nonsense' is not one of a Ray cluster"),
        (("--address", "a b:70000", "--on", "ray"), "is not one of a Ray cluster; write host:port"),
        (("--address", "127.0.0.2:6379"), "add --on ray, or leave it out"),
        (("--gpus", "1"), "only a cluster sets GPUs aside; add --on ray or --gpus 0"),
        (("--on", "slurm"), "--on is 'slurm'; it must be one of 'ray'"),
    ],
)
def test_bad_words_are_refused_in_a_sentence(
    tmp_path: Path, run: Run, words: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.json").write_text(json.dumps(SWEEP))
    outcome = run("sweep", "sweep.json", *words)
    assert_refused(outcome)
    assert complaint in outcome.err


def test_without_ray_it_is_said_how_to_get_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    Path("sweep.json").write_text(json.dumps(SWEEP))
    outcome = run("sweep", "sweep.json", "--on", "ray", "--address", "127.0.0.2:6379")
    assert_refused(outcome)
    assert "this needs ray, which is not installed; try: pip install 'everlearn[ray]'" in outcome.err
