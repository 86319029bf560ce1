"""The curves of a run, point by point as it is played."""

import math
from collections import defaultdict
from typing import Any

from everlearn.runs.records import EVENTS, SCORES, SECONDS

CURVES = {
    "accuracy": "accuracy on all tasks seen",
    "forgetting": "forgetting",
    "loss": "loss",
    "seconds": "seconds per task",
    "bytes": "bytes held",
}
"""What is drawn, and what it is called."""

Points = dict[str, list[tuple[float, float]]]
"""By curve, what was measured (y) when so many tasks were learned (x)."""


class Curves:
    """Takes the lines of a record's logs in order and gives the points they add.

    Args:
        epochs: passes over each task, which say where inside a task a loss belongs.

    Example:
        >>> curves = Curves(epochs=1)
        >>> row = {"task": 0, "tasks": [0], "correct": [3], "total": [4], "batch": None}
        >>> curves.take("scores.jsonl", row)
        {'accuracy': [(1, 0.75)]}
    """

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._best: dict[int, float] = defaultdict(lambda: -math.inf)

    def take(self, log: str, line: dict[str, Any]) -> Points:
        """The points that one line adds; none if it adds none."""
        if log == SCORES:
            return self._scored(line) if line["batch"] is None else {}
        if log == SECONDS:
            return {"seconds": [(line["task"] + 1, line["seconds"])]}
        if log == EVENTS and line["event"] == "learned":
            return self._learned(line)
        if log == EVENTS and line["event"] == "task-ended":
            return {"bytes": [(line["task"] + 1, line["weights_bytes"] + line["memory_bytes"])]}
        return {}

    def _scored(self, row: dict[str, Any]) -> Points:
        after, points = row["task"], Points()
        pairs = zip(row["tasks"], zip(row["correct"], row["total"], strict=True), strict=True)
        scores = {task: right / total for task, (right, total) in pairs if total}
        seen = [score for task, score in scores.items() if task <= after]
        fallen = [self._best[task] - score for task, score in scores.items() if task < after]
        if seen:
            points["accuracy"] = [(after + 1, math.fsum(seen) / len(seen))]
        if known := [fall for fall in fallen if not math.isinf(fall)]:
            points["forgetting"] = [(after + 1, math.fsum(known) / len(known))]
        for task, score in scores.items():
            self._best[task] = max(self._best[task], score)
        return points

    def _learned(self, event: dict[str, Any]) -> Points:
        """The first loss that a learner names is the one it minimises."""
        if not event["losses"]:
            return {}
        return {"loss": [(moment(event, self._epochs), next(iter(event["losses"].values())))]}


def moment(event: dict[str, Any], epochs: int) -> float:
    """How many tasks were learned when a batch was, with a part for the one under way.

    Example:
        >>> moment({"task": 3, "epoch": 0, "batch": 4, "n_batches": 10}, epochs=1)
        3.5
    """
    done = event["epoch"] * event["n_batches"] + event["batch"] + 1
    return float(event["task"] + done / (epochs * event["n_batches"]))
