"""Baselines that are compared with published results, and their settings.

Split-MNIST and Split-Fashion, class-incremental: five tasks of two classes, one head, evaluated on test
images after the last task. Settings given by a source are used. Others are selected from a small grid on
validation images by `python -m benchmarks.rivals_tuning`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from everlearn.runs import RunSpec

Settings = Mapping[str, Any]

DIGITS: Settings = {
    "stream.image_size": 28,
    "stream.drawn_size": 28,
    "evaluation.n_images": 10_000,
    "evaluation.every_n_tasks": 5,
    "evaluation.forward_transfer": False,
    "batch_size": 128,
    "learner.backbone": "mlp",
    "learner.learning_rate": 1e-3,
    "learner.average": 0.0,
}
ONLINE: Settings = {"batch_size": 10, "learner.optimizer": "sgd"}
"""Online training with batches of ten, the usual setting of replay methods."""


@dataclass(frozen=True)
class Source:
    """Publication of a result, and how it was verified."""

    name: str
    known: str


ISSUE_2 = Source("van de Ven's continual-learning, issue 2", "read there")
THREE_SCENARIOS = Source("van de Ven and Tolias 2019, arXiv:1904.07734", "read in a quotation of its table")
BASELINES = Source("continual-learning-baselines", "read in its table, settings in its code")
DARK = Source("Buzzega et al. 2020, arXiv:2004.07211", "from memory, not verified; settings read in its code")

ONCE = "2,000 steps per task there, one epoch here"
STEPS = 24
"""Epochs that give the 2,000 steps of van de Ven's code."""
SHORT_TUNING = "tuned with 10 epochs, run with 24"


@dataclass(frozen=True)
class Case:
    """A baseline, its settings, and its published result on Split-MNIST.

    Attributes:
        name: starts with the name of the learner.
        learner: short name.
        settings: given by the source.
        grid: selected on validation images.
        published: accuracy in percent, if there is a result.
        source: of the result.
        seeds: of the runs.
        differs: differences from the source.
    """

    name: str
    learner: str
    settings: Settings = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    published: float | None = None
    source: Source | None = None
    seeds: tuple[int, ...] = (0, 1, 2)
    differs: str = ""

    def choices(self) -> Iterator[Settings]:
        """All combinations of the grid; one empty combination without a grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def spec(self, stream: str, chosen: Settings, seed: int) -> RunSpec:
        """The specification of a run."""
        settings = {"device": "cpu", **DIGITS, **self.settings, **chosen, "seed": seed}
        return RunSpec.make(stream=stream, learner=self.learner, settings=settings)


def _dark(learner: str, size: int, published: float, *, rate: float, replay: int, **own: float) -> Case:
    """A case of the DER paper: online, a small buffer, settings of the authors' code."""
    settings = {
        **ONLINE,
        "learner.memory_size": size,
        "learner.learning_rate": rate,
        "learner.replay_size": replay,
        **{f"learner.{name}": value for name, value in own.items()},
    }
    differs = "a network of 2 x 100 there, 2 x 400 here"
    return Case(f"{learner}-{size}", learner, settings, {}, published, DARK, differs=differs)


CASES = (
    Case("naive", "naive", published=19.94, source=ISSUE_2, differs=ONCE),
    Case("l2", "l2", grid={"learner.strength": (0.01, 1.0)}),
    Case(
        "ewc",
        "ewc",
        grid={"learner.strength": (1e2, 1e4)},
        published=20.01,
        source=THREE_SCENARIOS,
        differs=ONCE,
    ),
    Case("si", "si", grid={"learner.strength": (0.1, 10.0)}, published=19.95, source=ISSUE_2, differs=ONCE),
    Case(
        "lwf",
        "lwf",
        {"epochs": STEPS},
        {"learner.new_labels": ("free", "zero"), "learner.weighting": ("fixed", "by-labels")},
        published=24.0,
        source=ISSUE_2,
        seeds=(0,),
        differs=SHORT_TUNING,
    ),
    Case("joint", "joint", {"epochs": 2}, published=97.59, source=ISSUE_2),
    Case(
        "er-1000",
        "er",
        {
            **ONLINE,
            "learner.memory_size": 1000,
            "learner.learning_rate": 0.1,
            "learner.replay_size": 10,
            "learner.policy": "class-balanced",
        },
        published=92.0,
        source=BASELINES,
        differs="one hidden layer of 512 there, two of 400 here",
    ),
    Case(
        "gdumb-4400",
        "gdumb",
        {
            "learner.memory_size": 4400,
            "learner.passes": 10,
            "learner.replay_size": 16,
            "learner.optimizer": "sgd",
            "learner.learning_rate": 0.1,
        },
        published=97.0,
        source=BASELINES,
    ),
    Case(
        "icarl-2000",
        "icarl",
        {"epochs": 10, "learner.memory_size": 2000},
        {"learner.temperature": (1.0, 2.0)},
        published=94.57,
        source=THREE_SCENARIOS,
        seeds=(0,),
        differs="2,000 steps per task there, about 820 here",
    ),
    _dark("er", 200, 80.4, rate=0.01, replay=10),
    _dark("er", 500, 86.1, rate=0.1, replay=10),
    _dark("a-gem", 500, 46.7, rate=0.1, replay=128),
    _dark("der", 200, 84.6, rate=0.03, replay=10, alpha=0.2),
    _dark("der", 500, 90.5, rate=0.03, replay=128, alpha=1.0),
    _dark("der++", 200, 85.6, rate=0.03, replay=128, alpha=0.2, beta=1.0),
    _dark("der++", 500, 91.0, rate=0.03, replay=10, alpha=1.0, beta=0.5),
)
STREAMS = ("mnist", "fashion")
