"""A record in a dozen facts."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everlearn.evaluation import (
    Cost,
    Row,
    ScoreTable,
    accuracy_curve,
    average_accuracy,
    average_incremental_accuracy,
    backward_transfer,
    forgetting,
    forgetting_curve,
    forward_transfer,
    learning_curve_area,
    min_accuracy_of,
    worst_case_accuracy_of,
)
from everlearn.evaluation.probes import Probing, retention_measures

if TYPE_CHECKING:
    from everlearn.runs import Record


FIRST_BATCHES = 10
"""Of each task, those that say how fast it is learned."""

Points = Mapping[float, float]
"""A curve: what was measured (y) when so many tasks were learned (x)."""


class Judged(NamedTuple):
    """One evaluation, after a task or (with `batch`) inside it."""

    row: Row
    batch: int | None
    factor_errors: Mapping[str, float]


@dataclass(eq=False)
class Findings:
    """A record, read once from beginning to end; no larger than what was measured.

    Attributes:
        record: the record itself.
        evaluations: what was scored after and inside tasks.
        seconds: how long all of it took.
        started: the event that began the run; empty if it has not begun.
        ended: the event that ended each task.
        edits: what people changed in the learner's memory.
        before: accuracy on each task before it was learned.
        chance: what guessing would have scored there, for tasks with a label that was met before; NaN in
            records that did not write it down.
        n_batches: batches in each task, over all epochs.
        memory_bytes: what the learner keeps of the past, as it was last said.
        probings: what could be read from the codes of a learner that answers nothing, moment by moment.
    """

    record: "Record"
    evaluations: tuple[Judged, ...]
    seconds: float
    started: Mapping[str, Any] = field(default_factory=dict)
    ended: list[Mapping[str, Any]] = field(default_factory=list)
    edits: list[Mapping[str, Any]] = field(default_factory=list)
    before: dict[int, float] = field(default_factory=dict)
    chance: dict[int, float] = field(default_factory=dict)
    n_batches: dict[int, int] = field(default_factory=dict)
    memory_bytes: int = 0
    probings: tuple[Probing, ...] = ()

    @classmethod
    def of(cls, record: "Record") -> "Findings":
        """All that is in a record."""
        judged = tuple(map(_judged, record.scores()))
        found = cls(record, judged, math.fsum(row["seconds"] for row in record.seconds()))
        found.probings = tuple(Probing(*(row[name] for name in Probing._fields)) for row in record.probes())
        met: set[int] = set()
        for event in record.events():
            found.memory_bytes = event.get("memory_bytes", found.memory_bytes)
            match event["event"]:
                case "run-started":
                    found.started = event
                case "task-started":
                    if event["ahead"] is not None:
                        found._note_before(event, is_new=met.isdisjoint(event["labels"]))
                    met.update(event["labels"])
                case "learned":
                    found.n_batches[event["task"]] = event["n_batches"] * record.spec["epochs"]
                case "task-ended":
                    found.ended.append(event)
                case "memory-edited":
                    found.edits.append(event)
        return found

    def _note_before(self, started: Mapping[str, Any], *, is_new: bool) -> None:
        self.before[started["task"]] = started["ahead"]
        if not is_new:
            unsaid = math.nan if started["ahead"] else 0.0
            self.chance[started["task"]] = started.get("chance", unsaid)

    @property
    def n_tasks(self) -> int:
        """Tasks that were played to their end."""
        return len(self.ended)

    @cached_property
    def scores(self) -> ScoreTable:
        """Accuracy on task j after task i."""
        table = ScoreTable()
        for judged in self.evaluations:
            if judged.batch is None:
                table.put(judged.row)
        return table

    @cached_property
    def answers(self) -> Mapping[str, Mapping[str, Any]]:
        """What the learner answered to protocols, by question; only what still holds."""
        return self.record.answers()

    @cached_property
    def cost(self) -> Cost:
        """What learning took so far, and what is held now."""
        last = self.ended[-1] if self.ended else {}
        return Cost(
            seconds=self.seconds,
            images=sum(task["n_images"] for task in self.ended),
            flops=last.get("flops", 0),
            weight_bytes=last.get("weights_bytes", 0),
            memory_bytes=self.memory_bytes,
        )

    def measures(self) -> dict[str, float]:
        """Every number there is; NaN where the record does not hold what the number is about."""
        return {
            "average_accuracy": average_accuracy(self.scores),
            "average_incremental_accuracy": average_incremental_accuracy(self.scores),
            "forgetting": forgetting(self.scores),
            "backward_transfer": backward_transfer(self.scores),
            "forward_transfer": self._forward_transfer(),
            "learning_curve_area": self._learning_curve_area(),
            **self._worst(),
            **dict(retention_measures(self.probings)),
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
        """How far earlier tasks had fallen from their best by then."""
        return _measured(enumerate(forgetting_curve(self.scores).tolist(), 1))

    def factor_error(self, factor: str) -> Points:
        """The mean error in one factor; no points for learners that estimate none."""
        judged = (each for each in self.evaluations if factor in each.factor_errors)
        return {each.row.after + 1: each.factor_errors[factor] for each in judged}

    @property
    def factors(self) -> list[str]:
        """The factors that the learner estimates."""
        return list(self.evaluations[-1].factor_errors) if self.evaluations else []

    def probe(self, place: str, quantity: str) -> Points:
        """How well a thing can be read from codes, over the batches that were learned by then."""
        starts = self.starts
        return {
            starts[each.task] + (self.n_batches[each.task] if each.batch is None else each.batch): read[
                quantity
            ]
            for each in self.probings
            if quantity in (read := each.found.get(place, {}))
        }

    @property
    def starts(self) -> list[int]:
        """How many batches came before each task; last, how many there are."""
        return list(accumulate(self.n_batches.values(), initial=0))

    @property
    def looked_inside(self) -> bool:
        """Whether the learner was also scored inside tasks."""
        return any(judged.batch is not None for judged in self.evaluations)

    def learning(self, *, earlier: bool) -> Points:
        """Accuracy inside tasks: on the one being learned, with gaps between tasks, or on earlier ones.

        No points for runs that were scored after tasks only.
        """
        points: dict[float, float] = {}
        if not self.looked_inside:
            return points
        for judged in self.evaluations:
            task, tasks, scores = judged.row
            if not earlier:
                points[math.nextafter(task, math.inf)] = math.nan
            points[self._moment(judged)] = _mean(scores[tasks < task if earlier else tasks == task].tolist())
        return points

    def _moment(self, judged: Judged) -> float:
        """How many tasks were learned at an evaluation, with a part for the one under way."""
        task = judged.row.after
        return float(task + (1.0 if judged.batch is None else judged.batch / self.n_batches[task]))

    def _forward_transfer(self) -> float:
        table = ScoreTable()
        for task in self.chance:
            table.add(task - 1, task, self.before[task])
        chance = [self.chance.get(task, math.nan) for task in range(table.n_tasks)]
        return forward_transfer(table, np.array(chance, np.float64))

    def _learning_curve_area(self) -> float:
        """Only known if the learner was scored after each of the first ten batches of a task."""
        curves = {task: [accuracy] for task, accuracy in self.before.items()}
        for judged in self.evaluations:
            task, tasks, scores = judged.row
            if judged.batch == len(curves.get(task, ())):
                curves[task].extend(scores[tasks == task].tolist())
        whole = [curve[: FIRST_BATCHES + 1] for curve in curves.values() if len(curve) > FIRST_BATCHES]
        return learning_curve_area(whole, FIRST_BATCHES) if whole else math.nan

    def _worst(self) -> dict[str, float]:
        """What could be relied on at every moment; only known if the learner was scored inside tasks."""
        rows = [judged.row for judged in self.evaluations] if self.looked_inside else []
        return {"min_accuracy": min_accuracy_of(rows), "worst_case_accuracy": worst_case_accuracy_of(rows)}


def _judged(scored: Mapping[str, Any]) -> Judged:
    row = Row.counted(scored["task"], scored["tasks"], scored["correct"], scored["total"])
    return Judged(row, scored["batch"], scored["factor_errors"])


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _measured(points: Iterable[tuple[int, float]]) -> Points:
    return {x: y for x, y in points if not math.isnan(y)}


def summary(found: Findings) -> dict[str, Any]:
    """What a run did and how it went, as plain JSON values; None for what is not known.

    Seconds are those of the tasks that count: time lost to a crash is not in them.
    """
    record, started = found.record, found.started
    return {
        "record": str(record.folder),
        "name": record.name or None,
        "learner": record.spec["learner"]["name"],
        "stream": started.get("stream"),
        "fingerprint": started.get("fingerprint"),
        "seed": record.spec["seed"],
        "tasks": found.n_tasks,
        "tasks_planned": started.get("n_tasks", record.spec["n_tasks"]),
        "finished": record.is_finished,
        "exact": record.is_exact,
        **{name: None if math.isnan(value) else value for name, value in found.measures().items()},
        "edits": [{name: edit[name] for name in ("n_tasks", "act", "label")} for edit in found.edits],
        "spec": record.spec_hash[:16],
        "digest": record.digest,
    }
