import os
import random
import re
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from everlearn.cli.arguments import read_spec
from everlearn.cli.sweep import default_gpus
from everlearn.runs import Record, RunSpec, list_records, record, sweep
from everlearn.runs.sweep import pending_commands

from . import sweeps
from .outcomes import EVERLEARN, Run, assert_refused, tree

DOCS = Path(__file__).parent.parent.parent / "docs" / "sweeps.md"
TINY = """
learners = ["nearest"]
[settings]
n_tasks = 2
stream.image_size = 16
stream.factor_values = 2
stream.split = [8, 3, 3]
stream.classes_per_task = 2
"""
LONG = TINY.replace("n_tasks = 2", "n_tasks = 600\nevaluation = { n_images = 10, every_n_tasks = 100 }")

pytestmark = pytest.mark.usefixtures("_in_tmp_path")


def examples() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)


@pytest.mark.slow
def test_example_of_the_documentation(run: Run) -> None:
    Path("sweep.toml").write_text(examples()[0])
    planned = run("sweep", "sweep.toml", "--dry-run", "--json").data
    assert [row["state"] for row in planned["runs"]] == ["missing"] * 4
    assert planned["seconds"] is None
    assert not Path("records").exists()
    outcome = run("sweep", "sweep.toml", "--json")
    assert outcome.err == ""
    data = outcome.data
    assert (data["finished"], data["failed"], data["left"]) == (4, [], 0)
    assert sorted((row["learner"], row["seeds"]) for row in data["rows"]) == [
        ("er", [0, 1]),
        ("naive", [0, 1]),
    ]
    assert all(row["average_accuracy_low"] <= row["average_accuracy"] for row in data["rows"])
    records = list_records("records/sweep")
    assert sorted(str(each.folder) for each in records) == sorted(row["record"] for row in planned["runs"])
    _check_same_as_a_single_run(records[0])
    _check_finished_runs_are_kept(run)


def _check_same_as_a_single_run(swept: Record) -> None:
    for _ in record(RunSpec.from_mapping(swept.spec), "single"):
        pass
    assert Record("single").digest == swept.digest


def _check_finished_runs_are_kept(run: Run) -> None:
    """Finished runs are not repeated; a new seed is planned with the duration of the others."""
    before = tree(Path("records"))
    again = run("sweep", "sweep.toml")
    assert again.err == "4 of 4 runs finished\n"
    assert "The records are in records/sweep; `everlearn report" in again.out
    Path("sweep.toml").write_text(examples()[0].replace("seeds = [0, 1]", "seeds = [0, 1, 2]"))
    planned = run("sweep", "sweep.toml", "--dry-run", "--json").data
    assert [row["state"] for row in planned["runs"]] == ["finished"] * 4 + ["missing"] * 2
    assert planned["seconds"] > 0
    after = tree(Path("records"))
    assert {path for path in before | after if before.get(path) != after.get(path)} <= {"sweep/.lock"}


def test_all_examples_of_the_documentation_are_valid(run: Run) -> None:
    for text in examples():
        Path("example.toml").write_text(text)
        assert run("sweep", "example.toml", "--dry-run").code == 0


def test_dry_run_lists_runs_and_different_settings(run: Run) -> None:
    grid = "[grid]\nlearner.memory_size = [8, 200]\n"
    Path("a.toml").write_text(TINY.replace('["nearest"]', '["naive", "er"]') + grid)
    rows = run("sweep", "a.toml", "--dry-run", "--json").data["runs"]
    assert [row["settings"] for row in rows] == [
        {},
        {"learner.memory_size": 8},
        {"learner.memory_size": 200},
    ]
    out = run("sweep", "a.toml", "--dry-run").out
    assert re.search(r"records/a/naive-sprites-seed-0-\w{8}  naive +sprites  0 +missing", out)
    assert "learner.memory_size 200" in out
    assert "0 of 3 runs finished; remaining time unknown" in out


def test_failed_run_does_not_stop_others(run: Run) -> None:
    Path("a.toml").write_text(f'streams = ["sprites", {{ name = "mnist", data = "/nowhere" }}]\n{TINY}')
    outcome = run("sweep", "a.toml", "--records", "here")
    assert outcome.code == 1
    lines = outcome.err.splitlines()
    assert lines[0] == "0 of 2 runs finished; remaining time unknown"
    assert sum(line.endswith(": started") for line in lines) == 2
    (failed,) = [line for line in lines if ": failed: " in line]
    assert "'/nowhere', which is not a folder" in failed
    assert re.search(r"^nearest-sprites-seed-0-\w{8}: finished after \d", outcome.err, re.MULTILINE)
    assert re.search(r"here/nearest-mnist-seed-0-\w{8} failed: ", " ".join(outcome.out.split()))


def test_sigint_saves_all_runs(run: Run) -> None:
    Path("a.toml").write_text(LONG)
    threading.Thread(target=_interrupt_after_a_task).start()
    outcome = run("sweep", "a.toml")
    assert outcome.code == 128 + signal.SIGINT
    assert "stopping: waiting for 1 run to save" in outcome.err
    assert "stopped by SIGINT, 1 of 1 runs left; the same command continues them" in outcome.out
    (saved,) = list_records("records/a")
    assert not saved.is_finished
    assert saved.checkpoints.numbers()


def _interrupt_after_a_task() -> None:
    while not any(path.stat().st_size for path in Path("records").glob("a/*/seconds.jsonl")):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (
            TINY.replace("learners", "lerners"),
            (),
            "unknown key of a sweep 'lerners'; did you mean 'learners'?",
        ),
        (TINY.replace("image_size", "imge_size"), (), "did you mean 'image_size'?"),
        (TINY.replace("n_tasks = 2", "n_tasks = 0"), (), "n_tasks is 0; it must be at least 1"),
        (TINY + "n_tasks = 3", (), "is not valid TOML"),
        (TINY, ("--workers", "0"), "workers is 0; it must be between 1 and"),
        (TINY, ("--threads", "0"), "threads is 0"),
        (TINY, ("--memory", "-1"), "memory is -1.0"),
        (TINY, ("--memory", "nan"), "memory is nan"),
        (TINY, ("--retries", "-1"), "retries is -1"),
        (TINY, ("--workers", "two"), "--workers is 'two'; it must be a whole number"),
        (TINY, ("--records", "a.toml"), "a.toml"),
        (TINY, ("--gpus", "1"), "gpus is 1, but this machine has 0 GPUs; use fewer, or a cluster"),
        (TINY, ("--on", "lsf"), "--on is 'lsf'; it must be one of 'ray', 'slurm'"),
        (TINY, ("--on", "slurm"), "there is no sbatch on this machine; run this command on a login node"),
        (TINY, ("--slurm", "partition=gpu"), "but only Slurm jobs have options; add --on slurm"),
        (TINY, ("--address", "127.0.0.2:6379"), "add --on ray, or omit it"),
        (TINY + "[resources]\nthreads = 0", (), "threads is 0"),
        (TINY + "[resources]\nmemory = -1", (), "memory is -1; it must be between 0"),
        (TINY + "[resources]\nthreads = 1.5", (), "resources.threads is 1.5; it must be a number such as 1"),
        (TINY + "[resources]\ncpus = 2", (), "unknown resource 'cpus'; use threads (one CPU each)"),
        (TINY + "[resources]\ngpus = 2", (), "gpus is 2, but this machine has 0 GPUs"),
    ],
)
def test_invalid_sweep_is_rejected(run: Run, text: str, words: tuple[str, ...], message: str) -> None:
    Path("a.toml").write_text(text)
    before = tree(Path())
    outcome = run("sweep", "a.toml", *words)
    assert_refused(outcome)
    assert message in outcome.err
    assert tree(Path()) == before


@pytest.mark.parametrize("name", ["nowhere.toml", "a.yaml", "."])
def test_invalid_file_is_rejected(run: Run, name: str) -> None:
    Path("a.yaml").touch()
    assert_refused(run("sweep", name))


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return sweeps.serial_results(tmp_path_factory.mktemp("serial"))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_kill_does_not_change_results(tmp_path: Path, serial: list[dict[str, Any]], number: int) -> None:
    rng, jobs = random.Random(number), sweeps.jobs_in(tmp_path)
    victim, moment = rng.choice(jobs), rng.randrange(1, sweeps.N_TASKS // 2)
    with sweeps.start(tmp_path, EVERLEARN) as sweep:
        sweeps.wait_for_tasks(sweep, victim, moment)
        os.kill(sweeps.process_of(victim) if number % 2 else sweep.pid, signal.SIGKILL)
    if not number % 2:
        sweeps.wait_until_unlocked(jobs)
        assert pending_commands(victim), "a child that outlived its parent would have finished the run"
        sweep = sweeps.start(tmp_path, EVERLEARN)
    assert sweep.wait() == 0
    assert sweeps.results(list_records(tmp_path)) == serial


@pytest.mark.more
def test_gpus_are_assigned_by_default(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes run on the CPU, since torch finds no GPU; their environments name different ones."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    given: list[str] = []
    start = subprocess.Popen

    def popen(*args: Any, env: dict[str, str], **options: Any) -> Any:
        given.append(env["CUDA_VISIBLE_DEVICES"])
        return start(*args, env=env, **options)

    monkeypatch.setattr("everlearn.runs.child_process.subprocess.Popen", popen)
    Path("a.toml").write_text(f"seeds = [0, 1]{TINY}")
    assert run("sweep", "a.toml", "--workers", "2", "--memory", "0").code == 0
    assert given == ["5", "6"]
    described = sweep.Sweep(**read_spec(Path("a.toml"))).jobs(Path("records"))
    on_cpu = [
        replace(job, spec=RunSpec.from_mapping({**job.spec.to_mapping(), "device": "cpu"}))
        for job in described
    ]
    assert (default_gpus(described), default_gpus(on_cpu)) == (1, 0)
