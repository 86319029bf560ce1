"""Sweeps and exports on a real Ray cluster: results do not depend on what is killed."""

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

from everlearn.runs import Record, list_records
from everlearn.runs.sweep import Job, pending_commands

from . import sweeps
from .outcomes import EVERLEARN, SMALL, Outcome, Run, assert_refused, tree

pytestmark = [
    pytest.mark.more,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'everlearn[ray]'"),
]


class Setup(NamedTuple):
    """A cluster, a folder that its second node cannot access, and the results of the sweep without Ray."""

    cluster: LocalCluster
    unshared: Path
    serial: list[dict[str, Any]]

    def run(self, *words: str, cwd: Path, env: dict[str, str] | None = None) -> Outcome:
        command = [str(EVERLEARN), *words, "--on", "ray", "--address", self.cluster.address]
        env = env or self.cluster.env
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def start(self, folder: Path) -> sweeps.Process:
        (folder / "everlearn").write_text(
            f'#!/bin/sh\nexec {EVERLEARN} "$@" --on ray --address {self.cluster.address}\n'
        )
        (folder / "everlearn").chmod(0o755)
        return sweeps.start(folder, folder / "everlearn", env=self.cluster.env)


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    serial = sweeps.serial_results(tmp_path_factory.mktemp("serial"))
    unshared = tmp_path_factory.mktemp("unshared")
    with LocalCluster(hidden=unshared if _can_hide(unshared) else None) as cluster:
        yield Setup(cluster, unshared, serial)


def _can_hide(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0"', str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


def n_saved(job: Job) -> int:
    """Tasks in the newest checkpoint."""
    checkpoints = Record(job.folder).checkpoints
    numbers = checkpoints.numbers()
    return int(checkpoints.read(numbers[-1])["run"]["cursor"]["task"]) if numbers else 0


def min_done(sweep: sweeps.Process, job: Job) -> int:
    """The task from which a run was repeated: the least progress until the end of the sweep."""
    least = sweeps.N_TASKS
    while sweep.poll() is None:
        least = min(least, sweeps.n_done(job))
        time.sleep(0.005)
    return least


def processes_of(folder: Path) -> list[psutil.Process]:
    """Processes with a folder of this test in their command line."""
    found = psutil.process_iter(["cmdline"])
    return [each for each in found if any(str(folder) in word for word in each.info["cmdline"] or ())]


def check_ended(setup: Setup, folder: Path, sweep: sweeps.Process) -> None:
    """The sweep has the results of serial runs, and none of its processes is left."""
    assert sweep.wait() == 0, sweeps.output(folder)
    assert sweeps.results(list_records(folder)) == setup.serial
    assert not processes_of(folder)


def kill_worker(setup: Setup, folder: Path, moment: int) -> None:
    job, _ = sweeps.jobs_in(folder)
    with setup.start(folder) as sweep:
        sweeps.wait_for_tasks(sweep, job, moment)
        saved = n_saved(job)
        psutil.Process(sweeps.process_of(job)).parent().kill()
        assert min_done(sweep, job) >= saved
    check_ended(setup, folder, sweep)
    assert "its process or its node was lost; it will be retried" in sweeps.output(folder)


def kill_node(setup: Setup, folder: Path, moment: int) -> None:
    jobs = sweeps.jobs_in(folder)
    with setup.start(folder) as sweep:
        for job in jobs:
            sweeps.wait_for_tasks(sweep, job, moment)
        (victim,) = [job for job in jobs if setup.cluster.has(sweeps.process_of(job))]
        saved = n_saved(victim)
        setup.cluster.lose_node()
        assert min_done(sweep, victim) >= saved
    check_ended(setup, folder, sweep)
    setup.cluster.add_node()


def kill_driver(setup: Setup, folder: Path, moment: int) -> None:
    jobs = sweeps.jobs_in(folder)
    with setup.start(folder) as sweep:
        sweeps.wait_for_tasks(sweep, jobs[0], moment)
        sweep.kill()
    sweeps.wait_until_unlocked(jobs)
    assert pending_commands(jobs[0]), "a worker that outlived the driver would have finished the run"
    saved = n_saved(jobs[0])
    with setup.start(folder) as sweep:
        assert min_done(sweep, jobs[0]) >= saved
    check_ended(setup, folder, sweep)


KILLS = (kill_worker, kill_node, kill_driver)


@pytest.mark.parametrize("kill", [kill_worker, *(pytest.param(k, marks=pytest.mark.slow) for k in KILLS[1:])])
def test_lost_jobs_continue_elsewhere(setup: Setup, tmp_path: Path, kill: Any) -> None:
    kill(setup, tmp_path, moment=40)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_kill_at_any_moment(setup: Setup, tmp_path: Path, number: int) -> None:
    moment = random.Random(number).randrange(1, sweeps.N_TASKS // 2)
    KILLS[number % 3](setup, tmp_path, moment=moment)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_signal_saves_all_runs(setup: Setup, tmp_path: Path, number: signal.Signals) -> None:
    job, _ = sweeps.jobs_in(tmp_path)
    with setup.start(tmp_path) as sweep:
        sweeps.wait_for_tasks(sweep, job, 20)
        os.kill(sweep.pid, number)
    assert sweep.returncode == 128 + number, sweeps.output(tmp_path)
    assert "stopping: waiting for" in sweeps.output(tmp_path)
    assert not processes_of(tmp_path)
    assert n_saved(job) == sweeps.n_done(job) >= 20


@pytest.mark.slow
def test_second_driver_is_rejected(setup: Setup, tmp_path: Path) -> None:
    job, _ = sweeps.jobs_in(tmp_path)
    with setup.start(tmp_path) as sweep:
        sweeps.wait_for_tasks(sweep, job, 1)
        outcome = setup.run("sweep", "sweep.json", "--records", ".", cwd=tmp_path)
        sweep.send_signal(signal.SIGINT)
    assert_refused(outcome)
    assert "is in use by process" in outcome.err


def test_unshared_folder_is_rejected(setup: Setup, tmp_path: Path) -> None:
    if not _can_hide(setup.unshared):
        pytest.skip("only root can hide a folder from a process")
    (tmp_path / "sweep.json").write_text(json.dumps(sweeps.SWEEP))
    outcome = setup.run("sweep", "sweep.json", "--records", str(setup.unshared), cwd=tmp_path)
    assert_refused(outcome)
    assert f"(127.0.0.3) does not share the folder {setup.unshared} with this machine" in outcome.err
    assert [each.name for each in setup.unshared.iterdir()] == [".lock"]


@pytest.mark.slow
def test_too_large_resources_are_rejected(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(sweeps.SWEEP))
    outcome = setup.run("sweep", "sweep.json", "--gpus", "1", cwd=tmp_path)
    assert_refused(outcome)
    assert "no node of the cluster has 1 CPUs, 1 GPUs and 0.5 GB of memory for a run" in outcome.err


@pytest.mark.slow
def test_wrong_token_is_rejected(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(sweeps.SWEEP))
    (tmp_path / "token").write_text("0" * 64)
    env = {**setup.cluster.env, "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    outcome = setup.run("sweep", "sweep.json", cwd=tmp_path, env=env)
    assert_refused(outcome)
    assert "and its token if it has one" in outcome.err


@pytest.mark.parametrize("to", ["webdataset", pytest.param("parquet", marks=pytest.mark.slow)])
def test_export_is_the_same_as_without_ray(setup: Setup, tmp_path: Path, run: Run, to: str) -> None:
    words = ("stream", "export", *SMALL, "--to", to, "--tasks", "0:8", "--out")
    assert run(*words, str(tmp_path / "local")).code == 0
    outcome = setup.run(*words, "ray", cwd=tmp_path)
    assert (outcome.code, outcome.err.count("Traceback")) == (0, 0), outcome
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")


@pytest.mark.usefixtures("_in_tmp_path")
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.2:1", "no Ray cluster answers at 127.0.0.2:1"),
        ("nonsense", "'nonsense' is not an address of a Ray cluster"),
        ("a b:70000", "is not an address of a Ray cluster; write host:port"),
    ],
)
def test_invalid_address_is_rejected(run: Run, address: str, message: str) -> None:
    Path("sweep.json").write_text(json.dumps(sweeps.SWEEP))
    outcome = run("sweep", "sweep.json", "--on", "ray", "--address", address)
    assert_refused(outcome)
    assert message in outcome.err


@pytest.mark.usefixtures("_in_tmp_path")
def test_missing_ray_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    Path("sweep.json").write_text(json.dumps(sweeps.SWEEP))
    outcome = run("sweep", "sweep.json", "--on", "ray", "--address", "127.0.0.2:6379")
    assert_refused(outcome)
    assert "this needs ray, which is not installed; try: pip install 'everlearn[ray]'" in outcome.err
