"""Trackers with the real packages; tests of those that are not installed are skipped."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, record, recorder, resume, track, trackers
from everlearn.runs.events import Event, RunEnded, TaskEnded, TrainStep

from .conftest import finish, tiny

Curve = dict[str, list[tuple[int, float]]]
SPEC = tiny(n_tasks=3, batch_size=1, **{"evaluation.every_n_batches": 15})
"""28 batches per task: losses are logged at 1 and 21, accuracies at 15 and 28."""
STOPS: dict[str, Callable[[Event], bool]] = {
    "at a logged step": lambda event: isinstance(event, TrainStep) and (event.task, event.batch) == (1, 20),
    "before an evaluation": lambda event: (
        isinstance(event, TrainStep) and (event.task, event.batch) == (1, 14)
    ),
    "after a task": lambda event: isinstance(event, TaskEnded),
}


def tensorboard_curves(place: str) -> Curve:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = Path(place).iterdir()
    board = EventAccumulator(str(folder)).Reload()
    tags = board.Tags()["scalars"]
    return {tag: [(point.step, point.value) for point in board.Scalars(tag)] for tag in tags}


def mlflow_curves(place: str) -> Curve:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=place)
    (found,) = client.search_runs([client.get_experiment_by_name("everlearn").experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params["learner.name"] == "nearest"
    assert found.data.tags["everlearn.group"] == "nearest sprites"
    return {
        name: [(point.step, point.value) for point in client.get_metric_history(found.info.run_id, name)]
        for name in found.data.metrics
    }


READERS = {"tensorboard": tensorboard_curves, "mlflow": mlflow_curves}


def need(package: str) -> None:
    pytest.importorskip(package, exc_type=ImportError, reason=f"{package} is not installed: everlearn[track]")


@pytest.fixture(params=["tensorboard", pytest.param("mlflow", marks=pytest.mark.filterwarnings("ignore"))])
def tracker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    need(request.param)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes seconds to create
    return str(request.param)


def place_of(tracker: str, folder: Path) -> str:
    return folder.as_uri() if tracker == "mlflow" else str(folder)


@pytest.fixture
def uninterrupted(tracker: str, tmp_path: Path) -> Curve:
    place = place_of(tracker, tmp_path / "whole")
    events = record(SPEC, tmp_path / "run")
    finish(track(events, Record(tmp_path / "run"), tracker, place))
    return READERS[tracker](place)


def test_curves_are_those_of_the_record(uninterrupted: Curve, tmp_path: Path) -> None:
    run = Record(tmp_path / "run")
    assert [step for step, _ in uninterrupted["train/distance"]] == [1, 21, 29, 49, 57, 77]
    assert [step for step, _ in uninterrupted["within_task/accuracy"]] == [15, 43, 71]
    assert [step for step, _ in uninterrupted["accuracy"]] == [28, 56, 84]
    rows = [row for row in run.evaluations() if row["n_batches"] is None]
    accuracies = [sum(row["n_correct"]) / sum(row["n_images"]) for row in rows]
    assert [value for _, value in uninterrupted["accuracy"]] == pytest.approx(accuracies)
    assert {"weights_bytes", "memory_bytes", "flops"} <= uninterrupted.keys()


@pytest.mark.parametrize(
    ("stop", "extra"),
    [("at a logged step", 9), ("before an evaluation", 0), ("before an evaluation", 9), ("after a task", 0)],
)
def test_resumed_run_continues_its_curves(
    uninterrupted: Curve,
    tracker: str,
    tmp_path: Path,
    stop: str,
    extra: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if it was killed some events after its last checkpoint, which are then repeated."""
    monkeypatch.setattr(recorder, "MAX_CHECKPOINT_OVERHEAD", -1.0)
    folder, place = tmp_path / "stopped", place_of(tracker, tmp_path / "curves")
    source = record(SPEC, folder)
    events = track(source, Record(folder), tracker, place)
    next(events)
    frame = source.gi_frame.f_locals["recorder"]  # type: ignore[attr-defined]
    next(event for event in events if STOPS[stop](event))
    frame.save_checkpoint()
    for _ in range(extra):
        next(events)
    events.close()  # type: ignore[attr-defined]  # a generator
    source.close()  # type: ignore[attr-defined]
    finish(track(resume(folder), Record(folder), tracker, place))
    assert Record(folder).digest == Record(tmp_path / "run").digest
    assert READERS[tracker](place) == uninterrupted


def test_finished_record_can_be_shown(uninterrupted: Curve, tracker: str, tmp_path: Path) -> None:
    place = place_of(tracker, tmp_path / "later")
    (only,) = track(resume(tmp_path / "run"), Record(tmp_path / "run"), tracker, place)
    assert isinstance(only, RunEnded)
    assert READERS[tracker](place) == uninterrupted


@pytest.mark.slow  # its own service process writes the log, and under load not always all of it
def test_wandb_has_id_group_and_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real package, offline; its log is read back."""
    need("wandb")
    import wandb

    for name, value in {"SILENT": "true", "MODE": "offline", "DIR": str(tmp_path)}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    finish(track(record(SPEC, tmp_path / "run"), Record(tmp_path / "run"), "wandb", "mine"))
    finish(track(resume(tmp_path / "run"), Record(tmp_path / "run"), "wandb", "mine"))
    wandb.teardown()
    logs = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert {log.stem for log in logs} == {f"run-{SPEC.hash[:32]}"}
    for log in logs:
        content = log.read_bytes()
        assert b"nearest sprites" in content
        # A name, the tag of protobuf field 16 with a length, then the number in JSON.
        steps = re.findall(rb"batches\x82\x01.([0-9]+)", content, re.DOTALL)
        in_order = list(dict.fromkeys(map(int, steps)))
        assert in_order == [1, 15, 21, 28, 29, 43, 49, 56, 57, 71, 77, 84]


@pytest.mark.parametrize("package", ["tensorboard", "wandb", "mlflow"])
def test_missing_package_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    finish(record(tiny(n_tasks=1), tmp_path / "run"))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadInput, match=rf"needs {package}, .*pip install 'everlearn\[track\]'"):
        track(iter(()), Record(tmp_path / "run"), package)


def test_a_tracker_that_cannot_be_closed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        def __init__(self, run: object, place: object) -> None: ...
        def write(self, first: int, points: object) -> None: ...
        def close(self, *, finished: bool) -> None:
            raise ConnectionError("the server is gone")

    monkeypatch.setattr(trackers, "check_tracker", lambda tracker: None)
    monkeypatch.setitem(trackers.TRACKERS, "mlflow", Unreachable)
    events = record(tiny(n_tasks=1), tmp_path / "run")
    with pytest.raises(BadInput, match=r"mlflow cannot be used \(the server is gone\)"):
        finish(track(events, Record(tmp_path / "run"), "mlflow"))
    assert Record(tmp_path / "run").is_finished


def test_unknown_tracker_is_an_error(tmp_path: Path) -> None:
    finish(record(tiny(n_tasks=1), tmp_path / "run"))
    with pytest.raises(BadInput, match="unknown tracker 'tensorbord'; did you mean 'tensorboard'"):
        track(iter(()), Record(tmp_path / "run"), "tensorbord")
