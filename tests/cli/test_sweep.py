import json
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from everlearn.runs import Record, RunSpec, list_records, record

from .outcomes import Run, assert_refused, tree

PAGE = Path(__file__).parent.parent.parent / "docs" / "sweeps.md"
TINY = """
learners = ["nearest"]
[settings]
n_tasks = 2
stream.image_size = 16
stream.factor_values = 2
stream.split = [8, 3, 3]
stream.classes_per_task = 2
"""
LONG = TINY.replace("n_tasks = 2", "n_tasks = 600\nevaluation = { probe_size = 10, every = 100 }")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def facts(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text.splitlines()[-1])
    return answer


def examples() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_has_an_example_that_plays(run: Run) -> None:
    Path("sweep.toml").write_text(examples()[0])
    planned = facts(run("sweep", "sweep.toml", "--dry-run", "--json").out)
    assert [row["state"] for row in planned["runs"]] == ["missing"] * 4
    assert planned["seconds"] is None
    assert not Path("records").exists()
    outcome = run("sweep", "sweep.toml", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    told = facts(outcome.out)
    assert (told["finished"], told["failed"], told["left"]) == (4, [], 0)
    assert sorted((row["learner"], row["seeds"]) for row in told["rows"]) == [
        ("er", [0, 1]),
        ("naive", [0, 1]),
    ]
    assert all(row["average_accuracy_low"] <= row["average_accuracy"] for row in told["rows"])
    records = list_records("records/sweep")
    assert sorted(str(each.folder) for each in records) == sorted(row["record"] for row in planned["runs"])
    _check_alone(records[0])
    _check_finished(run)


def _check_alone(swept: Record) -> None:
    """It ended as if it had been played by itself."""
    for _ in record(RunSpec.from_mapping(swept.spec), "alone"):
        pass
    assert Record("alone").digest == swept.digest


def _check_finished(run: Run) -> None:
    """Nothing is played again, and a value that is added is planned with the time that others took."""
    before = tree(Path("records"))
    again = run("sweep", "sweep.toml")
    assert again.err == "4 of 4 runs are finished\n"
    assert "The records are in records/sweep; look closer with" in again.out
    Path("sweep.toml").write_text(examples()[0].replace("seeds = [0, 1]", "seeds = [0, 1, 2]"))
    planned = facts(run("sweep", "sweep.toml", "--dry-run", "--json").out)
    assert [row["state"] for row in planned["runs"]] == ["finished"] * 4 + ["missing"] * 2
    assert planned["seconds"] > 0
    assert {k: v for k, v in tree(Path("records")).items() if ".lock" not in k} == {
        k: v for k, v in before.items() if ".lock" not in k
    }


def test_every_example_of_the_page_is_a_sweep(run: Run) -> None:
    for text in examples():
        Path("example.toml").write_text(text)
        assert run("sweep", "example.toml", "--dry-run").code == 0


def test_a_dry_run_says_in_what_runs_differ(run: Run) -> None:
    grid = "[grid]\nlearner.memory_size = [8, 200]\n"
    Path("a.toml").write_text(TINY.replace('["nearest"]', '["naive", "er"]') + grid)
    planned = facts(run("sweep", "a.toml", "--dry-run", "--json").out)
    assert [row["settings"] for row in planned["runs"]] == [
        {},
        {"learner.memory_size": 8},
        {"learner.memory_size": 200},
    ]
    assert "learner.memory_size 200" in run("sweep", "a.toml", "--dry-run").out


def test_a_dry_run_lists_the_runs(run: Run) -> None:
    Path("a.toml").write_text(TINY)
    out = run("sweep", "a.toml", "--dry-run").out
    assert re.search(r"records/a/nearest-sprites-seed-0-\w{8}  nearest  sprites  0 +missing", out)
    assert "0 of 1 runs are finished; time unknown" in out


def test_a_run_that_fails_stops_nobody(run: Run) -> None:
    Path("a.toml").write_text(f'streams = ["sprites", {{ name = "mnist", data = "/nowhere" }}]\n{TINY}')
    outcome = run("sweep", "a.toml", "--records", "here")
    assert outcome.code == 1
    lines = outcome.err.splitlines()
    assert lines[0] == "0 of 2 runs are finished; time unknown"
    assert sum(line.endswith(": started") for line in lines) == 2
    (failed,) = [line for line in lines if ": failed: " in line]
    assert "'/nowhere', which is not a folder" in failed
    assert re.search(r"^nearest-sprites-seed-0-\w{8}: finished after \d", outcome.err, re.MULTILINE)
    assert re.search(r"here/nearest-mnist-seed-0-\w{8} failed: ", " ".join(outcome.out.split()))


def test_asked_to_stop_it_saves_and_says_how_to_go_on(run: Run) -> None:
    Path("a.toml").write_text(LONG)
    threading.Thread(target=_stop_when_under_way).start()
    outcome = run("sweep", "a.toml")
    assert outcome.code == 128 + signal.SIGINT
    assert "stopping: waiting for 1 to save" in outcome.err
    assert "stopped by SIGINT with 1 of 1 runs to go; the same command goes on" in outcome.out
    (kept,) = list_records("records/a")
    assert not kept.is_finished
    assert kept.checkpoints.numbers()


def _stop_when_under_way() -> None:
    while not any(path.stat().st_size for path in Path("records").glob("a/*/seconds.jsonl")):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("text", "words", "complaint"),
    [
        (
            TINY.replace("learners", "lerners"),
            (),
            "unknown key of a sweep 'lerners'; did you mean 'learners'?",
        ),
        (TINY.replace("image_size", "imge_size"), (), "did you mean 'image_size'?"),
        (TINY.replace("n_tasks = 2", "n_tasks = 0"), (), "n_tasks is 0; it must be at least 1"),
        (TINY + "n_tasks = 3", (), "is not valid TOML"),
        ("learners = [", (), "is not valid TOML"),
        ("[1, 2]", (), "is not valid TOML"),
        (TINY, ("--workers", "0"), "workers is 0; it must be between 1 and"),
        (TINY, ("--threads", "0"), "threads is 0"),
        (TINY, ("--memory", "-1"), "memory is -1.0"),
        (TINY, ("--memory", "nan"), "memory is nan"),
        (TINY, ("--retries", "-1"), "retries is -1"),
        (TINY, ("--workers", "two"), "--workers is 'two'; it must be a whole number"),
        (TINY, ("--records", "a.toml"), "a.toml"),
        (TINY + "[resources]\nthreads = 0", (), "threads is 0"),
        (TINY + "[resources]\nmemory = -1", (), "memory is -1; it must be between 0"),
        (TINY + "[resources]\nthreads = 1.5", (), "resources.threads is 1.5; it must be a number such as 1"),
        (
            TINY + "[resources]\ncpus = 2",
            (),
            "unknown resource 'cpus'; name threads (one CPU each)",
        ),
        (TINY + "[resources]\ngpus = 2", (), "only a cluster sets GPUs aside; add --on ray or --gpus 0"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    run: Run, text: str, words: tuple[str, ...], complaint: str
) -> None:
    Path("a.toml").write_text(text)
    before = tree(Path())
    outcome = run("sweep", "a.toml", *words)
    assert_refused(outcome)
    assert complaint in outcome.err
    assert tree(Path()) == before


@pytest.mark.parametrize("name", ["nowhere.toml", "a.yaml", "."])
def test_what_is_no_file_of_settings_is_refused(run: Run, name: str) -> None:
    Path("a.yaml").touch()
    assert_refused(run("sweep", name))
