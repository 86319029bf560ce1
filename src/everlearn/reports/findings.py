"""What one record says, in numbers and curves."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.evaluation import (
    Cost,
    ScoreTable,
    accuracy_curve,
    average_accuracy,
    average_incremental_accuracy,
    backward_transfer,
    forgetting,
    forward_transfer,
    min_accuracy,
    worst_case_accuracy,
)

if TYPE_CHECKING:
    from everlearn.runs import Record

Points = Mapping[float, float]
"""A curve: what was measured (y) when so many tasks were learned (x)."""


@dataclass(frozen=True)
class Findings:
    """A record, read once from beginning to end.

    Attributes:
        record: the record itself.
        started: the event that began the run; empty if it has not begun.
        ended: the event that ended each task.
        ahead: accuracy on each task before it was learned.
        evaluations: what was scored after and inside tasks.
        n_batches: batches in each task, over all epochs.
        seconds: how long all of it took.
    """

    record: "Record"
    started: Mapping[str, Any]
    ended: tuple[Mapping[str, Any], ...]
    ahead: Mapping[int, float]
    evaluations: tuple[Mapping[str, Any], ...]
    n_batches: Mapping[int, int]
    seconds: float

    @classmethod
    def of(cls, record: "Record") -> "Findings":
        """All that is in a record."""
        started: dict[str, Any] = {}
        ended, ahead, n_batches = [], {}, {}
        for event in record.events():
            match event["event"]:
                case "run-started":
                    started = event
                case "task-started" if event["ahead"] is not None:
                    ahead[event["task"]] = event["ahead"]
                case "learned":
                    n_batches[event["task"]] = event["n_batches"] * record.spec["epochs"]
                case "task-ended":
                    ended.append(event)
        seconds = math.fsum(row["seconds"] for row in record.seconds())
        return cls(record, started, tuple(ended), ahead, tuple(record.scores()), n_batches, seconds)

    @property
    def n_tasks(self) -> int:
        """Tasks that were played to their end."""
        return len(self.ended)

    @cached_property
    def scores(self) -> ScoreTable:
        """Accuracy on task j after task i."""
        return self.record.score_table()

    @cached_property
    def cost(self) -> Cost:
        """What learning took so far, and what is held now."""
        last = self.ended[-1] if self.ended else {}
        return Cost(
            seconds=self.seconds,
            images=sum(task["n_images"] for task in self.ended),
            flops=last.get("flops", 0),
            weight_bytes=last.get("weights_bytes", 0),
            memory_bytes=last.get("memory_bytes", 0),
        )

    def measures(self) -> dict[str, float]:
        """Every number there is; NaN where the record does not hold what the number is about."""
        return {
            "average_accuracy": average_accuracy(self.scores),
            "average_incremental_accuracy": average_incremental_accuracy(self.scores),
            "forgetting": forgetting(self.scores),
            "backward_transfer": backward_transfer(self.scores),
            "forward_transfer": self._forward_transfer(),
            **self._worst(),
            "seconds": self.cost.seconds,
            "images": self.cost.images,
            "flops": self.cost.flops,
            "weights_bytes": self.cost.weight_bytes,
            "memory_bytes": self.cost.memory_bytes,
        }

    def accuracy(self) -> Points:
        """Mean accuracy on all tasks seen so far."""
        return _measured(enumerate(accuracy_curve(self.scores).tolist(), 1))

    def forgetting(self) -> Points:
        """How far earlier tasks had fallen from their best by then, as `evaluation.forgetting` counts."""
        after, table = self.scores.rows()
        best = np.full(table.shape[1], np.nan)
        points = {}
        for k, row in zip(after.tolist(), table, strict=True):
            fallen = (best - row)[:k]
            points[k + 1] = _mean(fallen[~np.isnan(fallen)].tolist())
            best = np.fmax(best, row)
        return _measured(points.items())

    def factor_error(self, factor: str) -> Points:
        """The mean error in one factor; no points for learners that estimate none."""
        rows = (row for row in self.evaluations if factor in row["factor_errors"])
        return {row["task"] + 1: row["factor_errors"][factor] for row in rows}

    @property
    def factors(self) -> list[str]:
        """The factors that the learner estimates."""
        return list(self.evaluations[-1]["factor_errors"]) if self.evaluations else []

    @property
    def looked_inside(self) -> bool:
        """Whether the learner was also scored inside tasks."""
        return any(row["batch"] is not None for row in self.evaluations)

    def learning(self, *, earlier: bool) -> Points:
        """Accuracy inside tasks: on the one being learned, with gaps between tasks, or on earlier ones.

        No points for runs that were scored after tasks only.
        """
        points: dict[float, float] = {}
        if not self.looked_inside:
            return points
        for row in self.evaluations:
            task = row["task"]
            if not earlier:
                points[math.nextafter(task, math.inf)] = math.nan
            points[self._moment(row)] = _mean(
                [score for j, score in _accuracies(row).items() if (j < task if earlier else j == task)]
            )
        return points

    def _moment(self, row: Mapping[str, Any]) -> float:
        """How many tasks were learned at an evaluation, with a part for the one under way."""
        part = 1.0 if row["batch"] is None else row["batch"] / self.n_batches[row["task"]]
        return float(row["task"] + part)

    def _forward_transfer(self) -> float:
        """Judged against the learner before it began, whose every answer is "nothing known": accuracy 0."""
        table = ScoreTable()
        for task, accuracy in self.ahead.items():
            if task > 0:
                table.add(task - 1, task, accuracy)
        return forward_transfer(table, np.zeros(table.n_tasks))

    def _worst(self) -> dict[str, float]:
        """What could be relied on at every moment; only known if the learner was scored inside tasks."""
        if not self.looked_inside:
            return {"min_accuracy": math.nan, "worst_case_accuracy": math.nan}
        table = np.full((len(self.evaluations), self.scores.n_tasks or self.n_tasks + 1), np.nan)
        for line, row in zip(table, self.evaluations, strict=True):
            for task, accuracy in _accuracies(row).items():
                line[task] = accuracy
        learning = [row["task"] for row in self.evaluations]
        return {
            "min_accuracy": min_accuracy(table, learning),
            "worst_case_accuracy": worst_case_accuracy(table, learning),
        }


def _accuracies(row: Mapping[str, Any]) -> dict[int, float]:
    pairs = zip(row["tasks"], row["correct"], row["total"], strict=True)
    return {task: correct / total for task, correct, total in pairs}


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _measured(points: Any) -> Points:
    return {x: y for x, y in points if not math.isnan(y)}
