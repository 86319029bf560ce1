"""Trackers with the real packages; tests of those that are not installed are skipped."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec, record, recorder, resume, track
from everlearn.runs.events import Event, Scored, TaskEnded, TrainStep
from everlearn.runs.trackers import Curves

from .conftest import finish, run_until, tiny

Curve = dict[str, list[tuple[int, float]]]
SPEC = tiny("er", n_tasks=3, batch_size=1, **{"evaluation.every_n_batches": 15})
"""28 batches per task, so that a point within a task, an evaluation within it, and its end have other steps."""
IS_LAST: dict[str, Callable[[Event], bool]] = {
    "within a task": lambda event: isinstance(event, TrainStep) and (event.task, event.batch) == (1, 22),
    "before an evaluation": lambda event: isinstance(event, TrainStep) and (event.task, event.batch) == (1, 14),
    "at a logged step": lambda event: isinstance(event, TrainStep) and (event.task, event.batch) == (1, 20),
    "after a task": lambda event: isinstance(event, TaskEnded),
}


def tensorboard_curves(place: Path) -> Curve:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = place.iterdir()
    board = EventAccumulator(str(folder)).Reload()
    return {
        tag: [(point.step, point.value) for point in board.Scalars(tag)] for tag in board.Tags()["scalars"]
    }


def mlflow_curves(place: Path) -> Curve:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri(place))
    (found,) = client.search_runs([client.get_experiment_by_name("everlearn").experiment_id])
    return {
        name: [(point.step, point.value) for point in client.get_metric_history(found.info.run_id, name)]
        for name in found.data.metrics
    }


def uri(place: Path) -> str:
    return f"sqlite:///{place}.db"


READERS = {"tensorboard": tensorboard_curves, "mlflow": mlflow_curves}


@pytest.fixture(params=["tensorboard", "mlflow"])
def tracker(request: pytest.FixtureRequest) -> str:
    needed = {"tensorboard": "tensorboard", "mlflow": "mlflow"}[request.param]
    pytest.importorskip(needed, exc_type=ImportError, reason=f"{needed} is not installed: everlearn[track]")
    return str(request.param)


def tracked(events: Iterator[Event], folder: Path, tracker: str, place: Path) -> Iterator[Event]:
    return track(events, Record(folder), tracker, uri(place) if tracker == "mlflow" else str(place))


def stopped_and_resumed(spec: RunSpec, folder: Path, is_last: Callable[[Event], bool], *args: Any) -> None:
    """A run that was killed some steps after its last checkpoint, and resumed."""
    with pytest.MonkeyPatch.context() as patch:
        events = tracked(record(spec, folder), folder, *args)
        for event in events:
            if is_last(event):
                patch.setattr(recorder, "CHECKPOINT_INTERVAL", 0.0)
