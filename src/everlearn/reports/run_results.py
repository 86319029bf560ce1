"""The results of one record: evaluations, curves, metrics and cost."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from everlearn.evaluation import Cost, Row, ScoreTable, metrics, stability
from everlearn.evaluation.intervals import SIGNED_UNIT, UNBOUNDED, UNIT, Bounds, Curve
from everlearn.evaluation.probes import ProbeResults, retention_measures
from everlearn.evaluation.scores import mean_without_nan
from everlearn.runs.phases import CPU, EVALUATE, PHASES
from everlearn.runs.run_files import damage_reported
from everlearn.runs.run_record import Record

FIRST_BATCHES = 10
"""Batches of a task that count for the learning curve area."""


BOUNDS: Mapping[str, Bounds] = {
    **dict.fromkeys(
        (
            "average_accuracy", "average_incremental_accuracy", "learning_curve_area", "min_accuracy",
            "worst_case_accuracy", "object_final", "object_best",
        ),
        UNIT,
    ),
    **dict.fromkeys(
        ("forgetting", "backward_transfer", "forward_transfer", "object_change", "object_after"), SIGNED_UNIT
    ),
    **dict.fromkeys(("position_change", "position_after"), UNBOUNDED),
}  # fmt: skip
"""Possible values of measures; all others are not negative."""


class EvaluationResult(NamedTuple):
    """One evaluation, after a task or, if `n_batches` of it are given, within it."""

    row: Row
    n_batches: int | None
    factor_errors: Mapping[str, float]
    n_correct: int = 0
    n_images: int = 0


@dataclass(eq=False)
class RunResults:
    """The results of a record, read once.

    `chance` is the accuracy of permuted predictions on tasks with known labels; NaN if it was not recorded.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> results = RunResults.from_record(record)
        >>> results.n_tasks, results.cost.images, sorted(results.measures())[:2]
        (2, 280, ['answer_flops', 'answer_ms'])
    """

    record: Record
    evaluations: Sequence[EvaluationResult]  # after and within tasks
    seconds: float  # training time
    started: Mapping[str, Any] = field(default_factory=dict)  # the event; empty if the run has not started
    ended: list[Mapping[str, Any]] = field(default_factory=list)  # the events "task-ended"
    edits: list[Mapping[str, Any]] = field(default_factory=list)  # the events "memory-edited"
    before: dict[int, float] = field(default_factory=dict)  # accuracy on each task before it was learned
    chance: dict[int, float] = field(default_factory=dict)
    n_batches: dict[int, int] = field(default_factory=dict)  # of each task, over all epochs
    memory_bytes: int = 0  # bytes of stored data at the end
    probe_results: Sequence[ProbeResults] = ()  # of unsupervised learners, evaluation by evaluation
    evaluate_seconds: float = 0.0  # time of evaluations; 0 if it was not recorded

    @classmethod
    def from_record(cls, record: Record) -> "RunResults":
        """Read a record."""
        with damage_reported(record.folder):
            return cls._read(record)

    @classmethod
    def _read(cls, record: Record) -> "RunResults":
        rows = list(record.seconds())
        seconds = math.fsum(row["seconds"] for row in rows)
        results = cls(record, tuple(map(_evaluation, record.evaluations())), seconds)
        results.evaluate_seconds = math.fsum(row["phases"][EVALUATE] for row in rows if "phases" in row)
        keys = ("task", "environment", "n_batches", "results")
        results.probe_results = tuple(ProbeResults(*(row[key] for key in keys)) for row in record.probes())
        known: set[int] = set()
        for event in record.events():
            results.memory_bytes = event.get("memory_bytes", results.memory_bytes)
            match event["event"]:
                case "run-started":
                    results.started = event
                case "task-started":
                    accuracy = event["zero_shot_accuracy"]
                    if accuracy is not None:
                        results.before[event["task"]] = accuracy
                        if not known.isdisjoint(event["labels"]):
                            unknown = math.nan if accuracy else 0.0
                            results.chance[event["task"]] = event.get("chance_accuracy", unknown)
                    known.update(event["labels"])
                case "train-step":
                    results.n_batches[event["task"]] = event["n_batches"] * record.spec["epochs"]
                case "task-ended":
                    results.ended.append(event)
                case "memory-edited":
                    results.edits.append(event)
        return results

    @property
    def n_tasks(self) -> int:
        """Tasks that were learned and evaluated."""
        return len(self.ended)

    @cached_property
    def seeds(self) -> tuple[int, int | None]:
        """The seeds of the run and of the stream, by which runs are paired."""
        spec = self.record.spec
        return spec["seed"], spec["stream"].get("seed")

    @cached_property
    def scores(self) -> ScoreTable:
        """Accuracy on task j after task i."""
        table = ScoreTable()
        for evaluation in self.evaluations:
            if evaluation.n_batches is None:
                table.set_row(evaluation.row)
        return table

    @property
    def tested(self) -> tuple[int, int]:
        """Correct answers and images of the last evaluation after a task; zeros if there was none."""
        after = [(each.n_correct, each.n_images) for each in self.evaluations if each.n_batches is None]
        return after[-1] if after else (0, 0)

    @cached_property
    def protocol_results(self) -> Mapping[str, Mapping[str, Any]]:
        """JSON results by protocol, without those from before the record last changed."""
        return self.record.protocol_results()

    @cached_property
    def cost(self) -> Cost:
        """The cost of training so far."""
        last = self.ended[-1] if self.ended else {}
        return Cost(
            seconds=self.seconds,
            images=sum(task["n_images"] for task in self.ended),
            flops=last.get("flops", 0),
            weight_bytes=last.get("weights_bytes", 0),
            memory_bytes=self.memory_bytes,
        )

    def measures(self) -> dict[str, float]:
        """All metrics; NaN if the record does not contain what they need."""
        within = [evaluation.row for evaluation in self.evaluations] if self.has_within_task_scores else []
        return {
            "average_accuracy": metrics.average_accuracy(self.scores),
            "average_incremental_accuracy": metrics.average_incremental_accuracy(self.scores),
            "forgetting": metrics.forgetting(self.scores),
            "backward_transfer": metrics.backward_transfer(self.scores),
            "forward_transfer": self._forward_transfer(),
            "learning_curve_area": self._learning_curve_area(),
            "min_accuracy": stability.min_accuracy(within),
            "worst_case_accuracy": stability.worst_case_accuracy(within),
            **dict(retention_measures(self.probe_results)),
            "seconds": self.cost.seconds,
            "images": self.cost.images,
            "flops": self.cost.flops,
            "weights_bytes": self.cost.weight_bytes,
            "memory_bytes": self.cost.memory_bytes,
            "bytes": self.cost.weight_bytes + self.cost.memory_bytes,
            **self._answer_cost(),
        }

    def _answer_cost(self) -> dict[str, float]:
        """FLOPs and milliseconds of a prediction; without the protocol, milliseconds of the evaluations."""
        measured = self.protocol_results.get("answer-cost")
        if measured is not None:
            flops = measured["flops"]
            return {
                "answer_flops": math.nan if flops is None else flops,
                "answer_ms": measured["milliseconds"],
            }
        n_images = 0 if self.chance else sum(each.n_images for each in self.evaluations)
        milliseconds = 1000 * self.evaluate_seconds / n_images if n_images else math.nan
        return {"answer_flops": math.nan, "answer_ms": milliseconds or math.nan}

    def accuracy(self) -> Curve:
        """Mean accuracy on all tasks seen so far, over the number of tasks."""
        return _measured(enumerate(metrics.accuracy_curve(self.scores).tolist(), 1))

    def forgetting(self) -> Curve:
        """Forgetting over the number of tasks."""
        return _measured(enumerate(metrics.forgetting_curve(self.scores).tolist(), 1))

    def factor_error(self, factor: str) -> Curve:
        """Mean error of a factor over the number of tasks; empty for learners that do not estimate it."""
        errors = ((each.row.after + 1, each.factor_errors) for each in self.evaluations)
        return {n_tasks: each[factor] for n_tasks, each in errors if factor in each}

    @property
    def factors(self) -> list[str]:
        """The factors that the learner estimates."""
        return list(self.evaluations[-1].factor_errors) if self.evaluations else []

    def probe(self, environment: str, quantity: str) -> Curve:
        """The score of a probe over the number of batches."""
        starts, curve = self.task_starts, dict[float, float]()
        for each in self.probe_results:
            n_batches = self.n_batches[each.task] if each.n_batches is None else each.n_batches
            scores = each.results.get(environment, {})
            if quantity in scores:
                curve[starts[each.task] + n_batches] = scores[quantity]
        return curve

    @property
    def task_starts(self) -> list[int]:
        """Number of batches before each task, and in total."""
        return list(accumulate(self.n_batches.values(), initial=0))

    @property
    def has_within_task_scores(self) -> bool:
        """Whether the learner was also evaluated within tasks."""
        return any(evaluation.n_batches is not None for evaluation in self.evaluations)

    def within_tasks(self, *, earlier: bool) -> Curve:
        """Accuracy within tasks over the number of tasks; empty if it was not evaluated there.

        On all earlier tasks, or on the one being learned, with gaps between tasks.
        """
        points: dict[float, float] = {}
        if not self.has_within_task_scores:
            return points
        for evaluation in self.evaluations:
            task, tasks, scores = evaluation.row
            if not earlier:
                points[math.nextafter(task, math.inf)] = math.nan
            chosen = scores[tasks < task if earlier else tasks == task].tolist()
            n = evaluation.n_batches
            now = task + (1.0 if n is None else n / self.n_batches[task])
            points[now] = mean_without_nan(chosen)
        return points

    def _forward_transfer(self) -> float:
        table = ScoreTable()
        for task in self.chance:
            table.add(task - 1, task, self.before[task])
        chance = [self.chance.get(task, math.nan) for task in range(table.n_tasks)]
        return metrics.forward_transfer(table, np.array(chance, np.float64))

    def _learning_curve_area(self) -> float:
        """NaN unless the learner was evaluated after each of the first ten batches of a task."""
        curves = {task: [accuracy] for task, accuracy in self.before.items()}
        for evaluation in self.evaluations:
            task, tasks, scores = evaluation.row
            if evaluation.n_batches == len(curves.get(task, ())):
                curves[task].extend(scores[tasks == task].tolist())
        complete = [curve[: FIRST_BATCHES + 1] for curve in curves.values() if len(curve) > FIRST_BATCHES]
        return stability.learning_curve_area(complete, FIRST_BATCHES) if complete else math.nan


def summary(results: RunResults) -> dict[str, Any]:
    """Specification, progress and metrics of a run as JSON values; None for unknown metrics.

    Time lost by an interruption does not count.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> values = summary(RunResults.from_record(record))
        >>> values["stream"], values["tasks"], values["finished"]
        ('sprites/class-incremental-v1', 2, True)
    """
    record, started = results.record, results.started
    return {
        "record": str(record.folder),
        "name": record.name or None,
        "learner": record.spec["learner"]["name"],
        "stream": started.get("stream"),
        "fingerprint": started.get("fingerprint"),
        "seed": record.spec["seed"],
        "tasks": results.n_tasks,
        "tasks_planned": started.get("n_tasks", record.spec["n_tasks"]),
        "finished": record.is_finished,
        "exact": record.is_exact,
        **{name: None if math.isnan(value) else value for name, value in results.measures().items()},
        "edits": [{name: edit[name] for name in ("n_tasks", "action", "label")} for edit in results.edits],
        "spec": record.spec_hash[:16],
        "digest": record.digest,
    }


def phase_seconds(record: Record) -> dict[str, float]:
    """Seconds of each phase of a run, and of all else as "other"; empty if they were not recorded.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> list(phase_seconds(record))
        ['render', 'train', 'evaluate', 'save', 'other']
    """
    rows = [row for row in record.seconds() if "phases" in row]
    if not rows:
        return {}
    phases = {name: math.fsum(row["phases"][name] for row in rows) for name in PHASES}
    return {**phases, "other": max(0.0, math.fsum(row["seconds"] for row in rows) - sum(phases.values()))}


def cpu_seconds(record: Record) -> float | None:
    """CPU seconds of a run, evaluations included; None if they were not recorded for all tasks.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> run = everlearn.run("nearest", tasks=1, stream_settings=small, record=folder, progress=False)
        >>> cpu_seconds(Record(folder)) > 0
        True
    """
    seconds = [row.get(CPU) for row in record.seconds()]
    known = [each for each in seconds if each is not None]
    return math.fsum(known) if len(known) == len(seconds) else None


def _evaluation(event: Mapping[str, Any]) -> EvaluationResult:
    row = Row.from_counts(event["task"], event["eval_tasks"], event["n_correct"], event["n_images"])
    counts = sum(event["n_correct"]), sum(event["n_images"])
    return EvaluationResult(row, event["n_batches"], event["factor_errors"], *counts)


def _measured(points: Iterable[tuple[int, float]]) -> Curve:
    return {x: y for x, y in points if not math.isnan(y)}
