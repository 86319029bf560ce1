"""`everlearn evaluate`: results, tables, stored files, and refusals."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everlearn import runs
from everlearn.cli.protocols import load_trained, save_result
from everlearn.errors import BadInput
from everlearn.runs.events import TrainStep
from tests.chat_server import ChatServer, chat_server

from .outcomes import SETTINGS, Run, assert_refused, record_of, tree

FEW = ("--n-choices", "2,4", "--n-trials", "5")
STREAM = ("--image-size", "16", "--factor-values", "2")
VASE = (
    'stream.sequence=["moving-sprites","inverted-sprites"]',
    "stream.image_size=16",
    "stream.n_shapes=2",
    "stream.images_per_shape=40",
    "stream.images_per_stage=32",
    "evaluation.n_images=4",
    "batch_size=16",
    "learner.size=tiny",
    "learner.n_latents=4",
)


def evaluate(run: Run, *words: str) -> dict[str, Any]:
    outcome = run("evaluate", *words, "--json")
    assert outcome.code == 0, outcome.err
    data: dict[str, Any] = json.loads(outcome.out)
    return data


def stored(records: Path, record: str, protocol: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((records / record / "protocols" / f"{protocol}.json").read_text())
    return data


def test_one_shot_is_stored_and_does_not_change_the_run(run: Run, records: Path) -> None:
    before = runs.Record("records/dcl").digest
    data = evaluate(run, "one-shot", "records/dcl", "--n-new", "2,5", "--n-images", "20")
    assert [shots["n_new"] for shots in data["shots"]] == [2, 5]
    assert (data["n_old"], data["tasks"], data["learner"]) == (6, 2, "dcl")
    assert stored(records, "dcl", "one-shot") == data
    assert runs.Record("records/dcl").digest == before
    assert "new and old classes" in run("evaluate", "one-shot", "records/dcl", "--n-new", "3").out


@pytest.mark.parametrize("record", ["records/dcl", "records/nearest"])
def test_held_out_factors(run: Run, records: Path, record: str) -> None:
    data = evaluate(run, "held-out-factors", record)
    assert data["n_held_out"] == 2 * 6
    assert 0 <= data["held_out"] <= 1
    assert set(data["held_out_errors"]) == set(data["trained_errors"])


def test_open_set(run: Run, records: Path) -> None:
    data = evaluate(run, "open-set", "records/dcl", "--n-images", "20")
    for curve in ("roc", "precision_recall", "acceptance"):
        assert 0 <= data[curve]["area"] <= 1
        assert len(data[curve]["x"]) == len(data[curve]["y"])
    assert data["roc"]["area"] == pytest.approx(data["acceptance"]["area"])


def test_online_offline_trains_the_other_run_once(run: Run, records: Path) -> None:
    words = ("online-offline", "records/nearest", "--epochs", "2")
    data = evaluate(run, *words)
    assert data["offline"]["record"] == "records/nearest-epochs-2"
    assert data["offline"]["images"] == 2 * data["online"]["images"]
    before = tree(records / "nearest-epochs-2" / "checkpoint")
    assert evaluate(run, *words) == data
    assert tree(records / "nearest-epochs-2" / "checkpoint") == before
    assert "average accuracy" in run("evaluate", *words).out


def test_environments_of_a_trained_vase(run: Run, records: Path) -> None:
    words = [word for setting in VASE for word in ("--set", setting)]
    outcome = run("run", "--stream", "environments", "--learner", "vase", *words, "--record", "records/vase")
    assert outcome.code == 0, outcome.err
    data = evaluate(run, "environments", "records/vase", "--n-images", "4")
    assert [stage["name"] for stage in data["stages"]] == ["moving-sprites", "inverted-sprites"]
    assert data["detection"]["n_changes"] == 1
    assert stored(records, "vase", "environments") == data
    assert "detected as" in run("evaluate", "environments", "records/vase", "--n-images", "4").out
    for figure in ("latent-usage", "probes"):
        assert run("plot", figure, "records/vase").code == 0
    assert "changes found" in run("compare", "records/vase").out


def test_multiple_choice_of_a_record(run: Run, records: Path) -> None:
    before = runs.Record("records/dcl").digest
    data = evaluate(run, "multiple-choice", "records/dcl", *FEW)
    assert list(data["scores"]) == ["pixel matching", "dcl"]
    assert [each["n_choices"] for each in data["scores"]["dcl"]] == [2, 4]
    assert (data["tasks"], data["trials"]) == (2, 5)
    assert stored(records, "dcl", "multiple-choice") == data
    assert runs.Record("records/dcl").digest == before


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.chdir(tmp_path)
    with chat_server() as found:
        yield found


def model(server: ChatServer, *more: str) -> tuple[str, ...]:
    return ("--endpoint", server.url, "--model", "vlm", "--per-minute", "1000000", *more)


def test_vision_language_model_is_requested_once(run: Run, server: ChatServer, tmp_path: Path) -> None:
    data = evaluate(run, "multiple-choice", *STREAM, *FEW, *model(server))
    assert data["scores"]["vlm"] == data["scores"]["pixel matching"]
    assert (data["n_requests"], data["n_cached"], len(server.requests)) == (10, 0, 10)
    assert server.requests[0][0]["Authorization"] == "Bearer secret"
    again = evaluate(run, "multiple-choice", *STREAM, *FEW, *model(server))
    assert (again["n_requests"], again["n_cached"], len(server.requests)) == (0, 10, 10)
    assert again["scores"] == data["scores"]
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "answers").iterdir())


def test_refusal_of_the_server(run: Run, server: ChatServer) -> None:
    server.failures = [401]
    refused = run("evaluate", "multiple-choice", *STREAM, *FEW, *model(server))
    assert_refused(refused)
    assert "secret" not in refused.err
    assert_refused(run("evaluate", "multiple-choice", *STREAM, *FEW, *model(server, "--max-cost", "1")))


def test_figure_of_multiple_choice(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = run("evaluate", "multiple-choice", *STREAM, *FEW, "--out", "figure.svg").out
    assert "chance" in out
    assert "0.250" in out
    assert (tmp_path / "figure.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one-shot", "records/nearest"), "no exemplar memory"),
        (("one-shot", "records/dcl", "--n-new", "0"), "at least 1"),
        (("one-shot", "records/dcl", "--n-new", ""), "n_new"),
        (("one-shot", "missing"), "missing is not a record"),
        (("open-set", "records/dcl", "--accepted", "2"), "at most 1"),
        (("held-out-factors", "records/dcl", "--n-images", "many"), "whole number"),
        (("online-offline", "records/dcl", "--epochs", "1"), "at least 2"),
        (("environments", "records/nearest"), "no posterior"),
        (("cross-domain", "records/dcl"), "does not infer environments"),
        (("disentanglement", "records/dcl"), "does not map images to latents"),
        (("twoshot", "records/dcl"), "did you mean 'one-shot'"),
        (("multiple-choice", "records/nearest"), "no exemplar memory"),
        (("multiple-choice", "records/dcl", "--image-size", "16"), "its own stream"),
        (("multiple-choice", "--endpoint", "http://localhost:1/v1"), "--model"),
        (("multiple-choice", "--out", "figure.txt"), "ends in"),
        (("multiple-choice", "--out", "missing/figure.svg"), "folder that exists"),
        (("multiple-choice", "--stream", "mnsit"), "did you mean 'mnist'"),
    ],
)
def test_refusals_leave_records_unchanged(
    run: Run, records: Path, words: tuple[str, ...], message: str
) -> None:
    before = tree(records)
    outcome = run("evaluate", *words)
    assert_refused(outcome)
    assert message in outcome.err
    assert tree(records) == before


def stopped_in_the_first_task(folder: Path) -> runs.Record:
    events = runs.record(runs.RunSpec.make(learner="nearest", settings=SETTINGS), folder)
    while not isinstance(next(events), TrainStep):
        pass
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(runs.Stopped):
        next(events)
    return runs.Record(folder)


def test_only_records_with_a_finished_task_are_evaluated(tmp_path: Path) -> None:
    run = load_trained(runs.Record(record_of("nearest", tmp_path / "finished")))
    assert (run.n_tasks_done, run.n_tasks) == (2, 2)
    with pytest.raises(
        BadInput, match=r"has no finished task yet; continue it with `everlearn resume .*run`"
    ):
        load_trained(stopped_in_the_first_task(tmp_path / "run"))


def test_results_are_current_until_the_record_changes(tmp_path: Path) -> None:
    record = stopped_in_the_first_task(tmp_path / "run")
    data = save_result(record, "one-shot", {"n_old": 7})
    assert json.loads((tmp_path / "run" / "protocols" / "one-shot.json").read_text()) == data
    assert record.protocol_results() == {"one-shot": {"n_old": 7, "digest": record.digest}}
    for _ in runs.resume(record.folder):
        pass
    assert record.protocol_results() == {}
