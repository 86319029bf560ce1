import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from everlearn import runs

from .outcomes import EVERLEARN, SMALL, Outcome, Run, assert_refused, tree

KEYS = {
    "record",
    "learner",
    "stream",
    "fingerprint",
    "tasks",
    "average_accuracy",
    "forgetting",
    "seconds",
    "images",
    "memory_bytes",
    "digest",
}
TINY = (*SMALL, "--learner", "nearest", "--tasks", "2", "--classes-per-task", "2")

pytestmark = pytest.mark.usefixtures("_in_tmp_path")


def test_run_show_and_resume_give_the_same_result(run: Run) -> None:
    outcome = run("run", *TINY, "--record", "a", "--json")
    assert outcome.err == ""
    data = outcome.data
    assert data.keys() >= KEYS
    assert data == run("show", "a", "--json").data == run("resume", "a", "--json").data
    assert (data["learner"], data["tasks"], data["finished"]) == ("nearest", 2, True)
    assert data["images"] == 2 * 2 * 10
    assert isinstance(data["average_accuracy"], float)


def test_run_prints_its_result(run: Run) -> None:
    out = run("run", *TINY, "-r", "a", "--name", "Größe [1]").out
    assert "nearest on sprites/class-incremental-v1" in out
    assert "2 finished" in out
    assert "Größe [1]" in out
    assert runs.Record("a").digest in out


def test_equal_runs_have_equal_digests(run: Run) -> None:
    a, b, c = (
        run("run", *TINY, *more, "--json").data
        for more in (("-r", "a"), ("-r", "b"), ("-r", "c", "--set", "stream.seed=1"))
    )
    assert a["digest"] == b["digest"] != c["digest"]
    assert a["fingerprint"] == b["fingerprint"] != c["fingerprint"]


def test_default_record_is_in_records(run: Run) -> None:
    folder = Path(run("run", *TINY, "--json").data["record"])
    assert folder.parent == Path("records")
    assert folder.name.startswith("nearest-sprites-seed-0-")
    assert runs.Record(folder).is_finished


def test_options_are_settings(run: Run) -> None:
    options = {"--tasks": "1", "--batch-size": "7", "--eval-images": "9", "--memory-size": "5"}
    settings = ("n_tasks=1", "batch_size=7", "evaluation.n_images=9", "learner.memory_size=5")
    run("run", *SMALL, "--learner", "er", *(word for pair in options.items() for word in pair), "-r", "a")
    run("run", *SMALL, "--learner", "er", *(word for each in settings for word in ("--set", each)), "-r", "b")
    assert runs.Record("a").spec == runs.Record("b").spec
    assert runs.Record("a").spec["learner"]["settings"]["memory_size"] == 5


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_spec_file_repeats_a_run(run: Run, suffix: str) -> None:
    run("run", *TINY, "-r", "a")
    spec = runs.RunSpec.from_mapping(runs.Record("a").spec)
    Path(f"spec{suffix}").write_text(spec.to_json() if suffix == ".json" else spec.to_toml())
    run("run", "--spec", f"spec{suffix}", "-r", "b")
    assert runs.Record("b").digest == runs.Record("a").digest
    run("run", "--spec", f"spec{suffix}", "--tasks", "1", "-r", "c")
    assert runs.Record("c").spec == {**runs.Record("a").spec, "n_tasks": 1}


def test_spec_file_may_be_incomplete(run: Run) -> None:
    Path("short.toml").write_text(
        'learner = "nearest"\nn_tasks = 1\n[stream]\nimage_size = 16\nfactor_values = 3\n'
    )
    assert run("run", "--spec", "short.toml", "-r", "a").code == 0
    assert runs.Record("a").spec["stream"]["image_size"] == 16


def test_record_of_another_run_is_rejected(run: Run) -> None:
    run("run", *TINY, "-r", "a")
    before = tree(Path("a"))
    outcome = run("run", *TINY, "-r", "a", "--seed", "3", "--epochs", "2")
    assert_refused(outcome)
    assert "epochs was 1, is 2; seed was 0, is 3" in outcome.err
    again = run("run", *TINY, "-r", "a")
    assert_refused(again)
    assert "everlearn resume a" in again.err
    assert tree(Path("a")) == before


def test_help_fits_on_two_screens(run: Run) -> None:
    out = run("run", "--help").out
    assert len(out.splitlines()) <= 60
    assert "everlearn learners NAME" in out


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.more)])
def test_stopped_run_can_be_resumed(run: Run, number: signal.Signals) -> None:
    rarely = ("--eval-images", "10", "--set", "evaluation.every_n_tasks=100", "--classes-per-task", "2")
    words = ["run", *SMALL, *rarely, "--learner", "nearest", "--tasks", "300", "--json"]
    child = subprocess.Popen([EVERLEARN, *words, "-r", "a"], stdout=subprocess.PIPE, text=True)
    while not Path("a/seconds.jsonl").exists() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(number)
    data = Outcome(0, child.communicate(timeout=120)[0], "").data
    assert child.returncode == 128 + number
    assert data["finished"] is False
    assert data.keys() >= KEYS
    resumed = run("resume", "a", "--json").data
    assert resumed["digest"] == run(*words, "-r", "b").data["digest"]


def test_damaged_checkpoint_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.runs.recorder.MAX_CHECKPOINT_OVERHEAD", 1e9)
    spec = runs.RunSpec.make(
        learner="nearest", settings={"stream.image_size": 16, "stream.factor_values": 3, "n_tasks": 3}
    )
    for event in runs.record(spec, "a"):
        if isinstance(event, runs.events.TaskEnded) and event.task == 1:
            break
    newest = max(Path("a/checkpoint").glob("*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-1])
    outcome = run("resume", "a")
    assert outcome.code == 0
    assert outcome.err.startswith("everlearn: checkpoint 2: ")
    assert outcome.err.count("\n") == 1


def test_log_shows_a_run_in_trackers(run: Run) -> None:
    pytest.importorskip("tensorboard", exc_type=ImportError)
    assert run("run", *TINY, "-r", "a", "--log", "tensorboard=board").code == 0
    (curves,) = Path("board").glob("a-*/events.out.tfevents.*")
    assert run("resume", "a", "--log", "tensorboard").code == 0
    (again,) = Path("tensorboard").glob("a-*/events.out.tfevents.*")
    assert again.parent.name == curves.parent.name


@pytest.mark.parametrize("package", ["tensorboard", "wandb", "mlflow"])
def test_missing_tracker_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    outcome = run("run", *TINY, "-r", "a", "--log", f"{package}=mine")
    assert_refused(outcome)
    assert f"this needs {package}, which is not installed; try: pip install" in outcome.err
    assert not Path("a").exists()
