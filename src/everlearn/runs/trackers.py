"""Experiment trackers: TensorBoard, Weights & Biases and MLflow.

A tracker shows exactly the points in the logs of a record. Points that it lacks are read from the logs, so a
run that was stopped and resumed has the curves of an uninterrupted one.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from everlearn.errors import BadInput, import_optional, unknown
from everlearn.runs.events import Event, Probed, RunEnded, Scored, TaskEnded, TrainStep
from everlearn.runs.recorder import is_logged
from everlearn.runs.run_record import Record, folder_name
from everlearn.settings import flatten

PROJECT = "everlearn"
"""Default project of Weights & Biases, and experiment of MLflow."""
FOLDER = "tensorboard"
"""Default folder of TensorBoard."""
BATCHES = "batches"
"""Name of the horizontal axis in Weights & Biases."""
MLFLOW_ID, MLFLOW_GROUP = "everlearn.id", "everlearn.group"
MAX_METRICS, MAX_PARAMETER = 1000, 500
"""Maximum metrics of a request to MLflow, and maximum characters of a parameter."""
KINDS: dict[str, Callable[..., Event]] = {each.kind: each for each in (TrainStep, Scored, Probed, TaskEnded)}


def track(events: Iterator[Event], record: Record, tracker: str, place: str | None = None) -> Iterator[Event]:
    """Show a run in a tracker, and yield the events of `record` or `resume` unchanged.

    The tracker also gets the points that the logs contain already, so that its curves are complete; to show a
    finished run, pass the events of `resume`. Steps are training batches since the start.

    Args:
        events: the events of the run.
        record: its record.
        tracker: tensorboard, wandb or mlflow.
        place: folder of TensorBoard, project of Weights & Biases, or tracking URI of MLflow.

    Example:
        >>> spec = RunSpec.make(learner="er")  # doctest: +SKIP
        >>> events = record(spec, "records/er")  # doctest: +SKIP
        >>> for event in track(events, Record("records/er"), "tensorboard"):  # doctest: +SKIP
        ...     pass
    """
    check_tracker(tracker)
    return _track(events, record, tracker, place)


def check_tracker(tracker: str) -> None:
    """Raise an error if a tracker is unknown or not installed."""
    if tracker not in TRACKERS:
        raise unknown("tracker", tracker, TRACKERS)
    import_optional(tracker, "pip install 'everlearn[track]'")


def scalars(event: Event) -> dict[str, float]:
    """The scalars that a tracker shows for an event.

    Example:
        >>> scalars(Scored(task=1, eval_tasks=(0, 1), n_correct=(3, 4), n_images=(4, 4)))
        {'accuracy': 0.875}
    """
    match event:
        case TrainStep():
            return {f"train/{name}": value for name, value in event.losses.items()}
        case Scored(n_batches=None):
            errors = {f"error/{name}": value for name, value in event.factor_errors.items()}
            return {"accuracy": event.accuracy, **errors}
        case Scored():
            return {"within_task/accuracy": event.accuracy}
        case Probed():
            return {
                f"probe/{environment}/{name}": value
                for environment, result in event.results.items()
                for name, value in result.items()
            }
        case TaskEnded():
            sizes = {"weights_bytes": event.weights_bytes, "memory_bytes": event.memory_bytes}
            return {**sizes, "flops": event.flops}
    return {}


class Point(NamedTuple):
    """Values after a number of training batches; points are ordered by the first three attributes."""

    step: int
    task: int
    rank: int  # order of the points of a step
    values: dict[str, float]


class Curves:
    """Turns events into points; events of one task come after the training steps of those before it.

    Example:
        >>> curves = Curves(epochs=2)
        >>> curves.points([TrainStep(0, 1, 2, n_batches=3, n_images=8, losses={"loss": 0.5})])
        [Point(step=6, task=0, rank=0, values={'train/loss': 0.5})]
    """

    def __init__(self, epochs: int) -> None:
        self._epochs, self._total = epochs, 0
        self._spans: dict[int, tuple[int, int]] = {}  # batches before and after each task

    def points(self, events: Sequence[Event]) -> list[Point]:
        """The points of logged events."""
        return [self._point(event) for event in events if scalars(event)]

    def _point(self, event: Any) -> Point:
        if isinstance(event, TrainStep) and event.task not in self._spans:
            before, self._total = self._total, self._total + event.n_batches * self._epochs
            self._spans[event.task] = before, self._total
        before, after = self._spans.get(event.task, (self._total, self._total))
        if isinstance(event, TrainStep):
            step, rank = before + event.epoch * event.n_batches + event.batch + 1, 0
        elif isinstance(event, TaskEnded):
            step, rank = after, 3
        else:
            step, rank = (after, 2) if event.n_batches is None else (before + event.n_batches, 1)
        return Point(step, event.task, rank, scalars(event))


class RunInfo(NamedTuple):
    """Identity and settings of a run in a tracker."""

    id: str  # the same after an interruption
    name: str
    group: str
    spec: dict[str, Any]

    @classmethod
    def of(cls, record: Record) -> "RunInfo":
        """The run of a record."""
        group = f"{record.spec['learner']['name']} {record.spec['stream']['stream']}"
        return cls(record.spec_hash[:32], record.name or record.folder.name, group, record.spec)


class Writer(Protocol):
    """Sends points to a tracker."""

    def write(self, first: int, points: Sequence[Point]) -> None:
        """Send points, except those sent before; `first` is the index of the first one in the run."""

    def close(self, *, finished: bool) -> None:
        """Close the tracker after the run has finished or was stopped."""


class TensorBoardWriter(Writer):
    """Writes one folder per run, replacing the events of an earlier call."""

    def __init__(self, run: RunInfo, place: str | None) -> None:
        from torch.utils.tensorboard import SummaryWriter

        name = folder_name(run.name.removesuffix(f"-{run.id[:8]}"), run.id)
        folder = Path(place or FOLDER) / name
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = SummaryWriter(str(folder), purge_step=0)
        self._writer.add_text("spec", f"```json\n{json.dumps(run.spec, indent=1)}\n```")

    def write(self, first: int, points: Sequence[Point]) -> None:
        for point in points:
            for name, value in point.values.items():
                self._writer.add_scalar(name, value, point.step)

    def close(self, *, finished: bool) -> None:
        self._writer.close()


class WandBWriter(Writer):
    """Logs each point under its index in the run, since logged steps cannot be changed."""

    def __init__(self, run: RunInfo, place: str | None) -> None:
        import wandb

        self._run = wandb.init(
            project=place or PROJECT,
            id=run.id,
            name=run.name,
            group=run.group,
            config=run.spec,
            resume="allow",
        )
        self._run.define_metric("*", step_metric=BATCHES)
        self._n_sent = self._run.step

    def write(self, first: int, points: Sequence[Point]) -> None:
        for number, point in enumerate(points, first):
            if number >= self._n_sent:
                self._run.log({**point.values, BATCHES: point.step}, step=number)

    def close(self, *, finished: bool) -> None:
        self._run.finish()


class MLflowWriter(Writer):
    """Continues the run that has the id as a tag."""

    def __init__(self, run: RunInfo, place: str | None) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=place)
        known = self._client.get_experiment_by_name(PROJECT)
        experiment = known.experiment_id if known else self._client.create_experiment(PROJECT)
        found = self._client.search_runs([experiment], f"tags.`{MLFLOW_ID}` = '{run.id}'")
        tracked = found[0] if found else self._create(run, experiment)
        self._id = tracked.info.run_id
        self._client.update_run(self._id, status="RUNNING")
        self._last = {name: self._last_step(name) for name in tracked.data.metrics}

    def write(self, first: int, points: Sequence[Point]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        named = chain.from_iterable(((name, point) for name in point.values) for point in points)
        metrics = [
            Metric(name, point.values[name], now, point.step)
            for name, point in named
            if point.step > self._last.get(name, -1)
        ]
        for start in range(0, len(metrics), MAX_METRICS):
            self._client.log_batch(self._id, metrics=metrics[start : start + MAX_METRICS])

    def close(self, *, finished: bool) -> None:
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")

    def _create(self, run: RunInfo, experiment: str) -> Any:
        created = self._client.create_run(
            experiment, run_name=run.name, tags={MLFLOW_ID: run.id, MLFLOW_GROUP: run.group}
        )
        for name, value in flatten(run.spec).items():
            self._client.log_param(created.info.run_id, name, str(value)[:MAX_PARAMETER])
        return created

    def _last_step(self, name: str) -> int:
        return max(metric.step for metric in self._client.get_metric_history(self._id, name))


TRACKERS: dict[str, Callable[[RunInfo, str | None], Writer]] = {
    "tensorboard": TensorBoardWriter,
    "wandb": WandBWriter,
    "mlflow": MLflowWriter,
}


def _track(events: Iterator[Event], record: Record, tracker: str, place: str | None) -> Iterator[Event]:
    first = next(events, None)  # from now on, the logs end where the run continues
    curves = Curves(record.spec["epochs"])
    points = sorted(curves.points(_logged_events(record)), key=lambda point: point[:3])
    n_points, event = len(points), first
    with _tracker_error_context(tracker, record):
        writer = TRACKERS[tracker](RunInfo.of(record), place)
        writer.write(0, points)
    try:
        yield from () if first is None else (first,)
        for event in events:
            new = curves.points([event]) if is_logged(event) else []
            with _tracker_error_context(tracker, record):
                writer.write(n_points, new)
            n_points += len(new)
            yield event
    finally:
        with _tracker_error_context(tracker, record):
            writer.close(finished=isinstance(event, RunEnded))


@contextmanager
def _tracker_error_context(tracker: str, record: Record) -> Iterator[None]:
    """Raise errors of a tracker, whose types differ between packages, as `BadInput` with advice."""
    try:
        yield
    except Exception as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise BadInput(
            f"{tracker} cannot be used ({problem:.200}); check it and continue with `everlearn resume "
            f"{record.folder} --log {tracker}`, or without --log"
        ) from error


def _logged_events(record: Record) -> list[Event]:
    rows = chain(record.events(), record.evaluations(), record.probes())
    return [KINDS[row.pop("event")](**row) for row in rows if row["event"] in KINDS]
