"""Known results: are the rivals as good, and as bad, here as where they were published?

Split-MNIST and Split-Fashion, class-incremental, five tasks of two classes, one head, real images. A run is
kept in records/rivals, goes on where it was stopped, and is played once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Row
from everlearn import runs

RECORDS = Path("records/rivals")
SEEDS = (0,)
BAND = 3.0
"""Points of accuracy by which ours may differ from what was published."""

DIGITS = {
    "stream.image_size": 28,
    "stream.drawn_size": 28,
    "evaluation.probe_size": 10_000,
    "evaluation.every": 5,
    "evaluation.ahead": False,
    "batch_size": 128,
    "learner.backbone": "mlp",
}
ONLINE = {"batch_size": 10, "learner.optimiser": "sgd", "learner.learning_rate": 0.1}
"""Ten new and ten old images a step, as online replay is usually measured."""
ON_FASHION = ("naive", "er", "gdumb", "joint")
BASELINES = "continual-learning-baselines"
VAN_DE_VEN = "van de Ven's continual-learning, issue 2"


@dataclass(frozen=True)
class Case:
    """A learner with its settings, and what was published for it on Split-MNIST, in percent."""

    learner: str
    published: float
    where: str
    settings: dict[str, Any] = field(default_factory=dict)

    def spec(self, stream: str, seed: int) -> runs.RunSpec:
        """The run."""
        settings = {**DIGITS, **self.settings, "seed": seed}
        return runs.RunSpec.make(stream=stream, learner=self.learner, settings=settings)


CASES = (
    Case("naive", 19.9, VAN_DE_VEN),
    Case("ewc", 19.9, VAN_DE_VEN),
    Case("si", 20.0, VAN_DE_VEN),
    Case(
        "lwf",
        23.0,
        BASELINES,
        {"epochs": 10, "learner.temperature": 1, "learner.optimiser": "sgd", "learner.learning_rate": 0.001},
    ),
    Case("joint", 97.6, VAN_DE_VEN, {"epochs": 2}),
    Case(
        "er",
        92.0,
        f"{BASELINES}, online replay, 1,000 images",
        {
            **ONLINE,
            "learner.memory_size": 1000,
            "learner.replay_size": 10,
            "learner.policy": "class-balanced",
        },
    ),
    Case(
        "gdumb",
        97.0,
        f"{BASELINES}, 4,400 images",
        {"learner.memory_size": 4400, "learner.passes": 15, "learner.replay_size": 64},
    ),
    Case("icarl", 94.0, f"{VAN_DE_VEN}, about; memory not told", {"epochs": 10, "learner.memory_size": 2000}),
)


def run() -> list[Row]:
    """What was published, ours, and the gap; for Fashion, of which our sources say nothing, ours."""
    digits = [row for case in CASES for row in _beside_published(case)]
    return digits + [_ours(case, "fashion") for case in CASES if case.learner in ON_FASHION]


def _beside_published(case: Case) -> Iterator[Row]:
    ours = _ours(case, "mnist")
    yield Row(f"mnist, {case.learner}: published ({case.where})", case.published, "%")
    yield ours
    gap = abs(ours.value - case.published)
    yield Row(f"mnist, {case.learner}: gap", gap, "points", goal=BAND, at_most=True)


def _ours(case: Case, stream: str) -> Row:
    scores = [_accuracy(case.spec(stream, seed)) for seed in SEEDS]
    spread = (min(scores), max(scores)) if len(scores) > 1 else None
    return Row(f"{stream}, {case.learner}: ours", float(np.mean(scores)), "%", spread)


def _accuracy(spec: runs.RunSpec) -> float:
    """Percent right over all test images after the last task."""
    folder = RECORDS / runs.folder_name(f"{spec.stream.kind} {spec.learner.name} {spec.seed}", spec.hash)
    if not folder.exists():
        _play(runs.record(spec, folder))
    elif not runs.Record(folder).is_finished:
        _play(runs.resume(folder))
    *_, last = runs.Record(folder).scores()
    return float(100.0 * sum(last["correct"]) / sum(last["total"]))


def _play(story: Iterator[object]) -> None:
    for _ in story:
        continue
