import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from everlearn import learners, runs
from everlearn.cli.progress import watch

from .outcomes import EVERLEARN, SMALL, Run, assert_refused, record_of, tree

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


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def last_line(text: str) -> dict[str, object]:
    facts: dict[str, object] = json.loads(text.splitlines()[-1])
    return facts


def test_run_show_and_resume_end_with_the_same_facts(run: Run) -> None:
    played = run("run", *TINY, "--record", "a", "--json")
    assert (played.code, played.err) == (0, "")
    facts = last_line(played.out)
    assert facts.keys() >= KEYS
    assert facts == last_line(run("show", "a", "--json").out) == last_line(run("resume", "a", "--json").out)
    assert (facts["learner"], facts["tasks"], facts["finished"]) == ("nearest", 2, True)
    assert facts["images"] == 2 * 2 * 10
    assert isinstance(facts["average_accuracy"], float)


def test_equal_runs_have_equal_digests_and_others_do_not(run: Run) -> None:
    a, b, c = (
        last_line(run("run", *TINY, *more, "--json").out)
        for more in (("-r", "a"), ("-r", "b"), ("-r", "c", "--set", "stream.seed=1"))
    )
    assert a["digest"] == b["digest"] != c["digest"]
    assert a["fingerprint"] == b["fingerprint"] != c["fingerprint"]


def test_records_go_to_records_if_nobody_says_where(run: Run) -> None:
    folder = Path(str(last_line(run("run", *TINY, "--json").out)["record"]))
    assert folder.parent == Path("records")
    assert folder.name.startswith("nearest-sprites-seed-0-")
    assert runs.Record(folder).is_finished


def test_a_flag_is_another_spelling_of_a_setting(run: Run) -> None:
    flags = (
        "--tasks",
        "1",
        "--batch-size",
        "7",
        "--probe-size",
        "9",
        "--memory-size",
        "5",
        "--learner",
        "er",
    )
    dotted = ("n_tasks=1", "batch_size=7", "evaluation.probe_size=9", "learner.memory_size=5")
    spelled = [word for pair in dotted for word in ("--set", pair)]
    run("run", *SMALL, *flags, "-r", "a")
    run("run", *SMALL, "--learner", "er", *spelled, "-r", "b")
    assert runs.Record("a").spec == runs.Record("b").spec
    assert runs.Record("a").spec["learner"]["settings"]["memory_size"] == 5


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_a_spec_file_plays_the_same_run_again(run: Run, suffix: str) -> None:
    run("run", *TINY, "-r", "a")
    spec = runs.RunSpec.from_mapping(runs.Record("a").spec)
    Path(f"spec{suffix}").write_text(spec.to_json() if suffix == ".json" else spec.to_toml())
    run("run", "--spec", f"spec{suffix}", "-r", "b")
    assert runs.Record("b").digest == runs.Record("a").digest
    run("run", "--spec", f"spec{suffix}", "--tasks", "1", "-r", "c")
    assert runs.Record("c").spec == {**runs.Record("a").spec, "n_tasks": 1}


def test_a_short_spec_file_is_enough(run: Run) -> None:
    Path("short.toml").write_text(
        'learner = "nearest"\nn_tasks = 1\n[stream]\nimage_size = 16\nfactor_values = 3\n'
    )
    assert run("run", "--spec", "short.toml", "-r", "a").code == 0
    assert runs.Record("a").spec["stream"]["image_size"] == 16


def test_another_run_in_the_same_folder_is_refused_with_the_difference(run: Run) -> None:
    run("run", *TINY, "-r", "a")
    before = tree(Path("a"))
    outcome = run("run", *TINY, "-r", "a", "--seed", "3", "--epochs", "2")
    assert_refused(outcome)
    assert "epochs was 1, is 2; seed was 0, is 3" in outcome.err
    again = run("run", *TINY, "-r", "a")
    assert_refused(again)
    assert "everlearn resume a" in again.err
    assert tree(Path("a")) == before


def test_people_see_a_screen(run: Run) -> None:
    out = run("run", *TINY, "-r", "a").out
    assert "nearest on sprites/class-incremental-v1" in out
    assert "2 finished" in out
    assert runs.Record("a").digest in out


def test_help_has_every_setting_of_every_learner(run: Run) -> None:
    out = run("run", "--help").out
    for name in learners.names():
        assert f"\n{name}: " in out
        for setting in learners.settings_class(name).model_fields:
            assert f"learner.{setting} " in out


def test_watch_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[float, int, str]] = []
    folder = record_of("nearest", tmp_path / "first")
    spec = runs.RunSpec.from_mapping(runs.Record(folder).spec)
    story = runs.record(spec, tmp_path / "second")
    watch(story, runs.Record(tmp_path / "second"), lambda *progress: told.append(progress))
    done = [each[0] for each in told]
    assert done == sorted(done)
    assert (done[-1], told[-1][1]) == (2, 2)
    assert told[-1][2].startswith("accuracy 0.")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_resume_ends_as_if_nothing_had_been(run: Run, number: signal.Signals) -> None:
    rarely = ("--probe-size", "10", "--set", "evaluation.every=100", "--classes-per-task", "2")
    words = ["run", *SMALL, *rarely, "--learner", "nearest", "--tasks", "300", "--json"]
    child = subprocess.Popen([EVERLEARN, *words, "-r", "a"], stdout=subprocess.PIPE, text=True)
    while not Path("a/seconds.jsonl").exists() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(number)
    facts = last_line(child.communicate(timeout=120)[0])
    assert child.returncode == 128 + number
    assert facts["finished"] is False
    assert facts.keys() >= KEYS
    resumed = last_line(run("resume", "a", "--json").out)
    assert resumed["digest"] == last_line(run(*words, "-r", "b").out)["digest"]


def test_a_damaged_checkpoint_is_said_in_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.runs.recorder.SAVING_SHARE", 1e9)  # save after every task, however short
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
