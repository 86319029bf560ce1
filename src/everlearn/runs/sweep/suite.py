"""The suite of the leaderboard: the same runs and protocols for every learner, at three sizes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.errors import BadInput, check_range, unknown
from everlearn.evaluation import protocols
from everlearn.runs.run_record import folder_name

if TYPE_CHECKING:  # score cards are read without torch
    from everlearn.learners import Learner
    from everlearn.runs.spec import RunSpec
    from everlearn.runs.sweep.jobs import Job

SUITE = "v1"
"""Version of the suite; scores of different versions are not comparable."""
LONG, NUISANCES, WITHIN_TASKS = "long", "nuisances", "within-tasks"
"""The runs of the suite: many tasks; few tasks with nuisances; few tasks, evaluated within them."""
PROTOCOLS = ("answer-cost", "one-shot", "open-set")
"""Evaluations of the long run."""
STRENGTHS = {"noise": 0.1, "texture": 0.2, "lighting": 0.3, "occluder": 0.1, "clutter": 2}
"""Nuisances in training and test images of one run, all at once."""
MAX_SEEDS = 100


@dataclass(frozen=True)
class Size:
    """One size of the suite."""

    name: str
    description: str
    lengths: tuple[int, int, int]  # tasks after which the long run is scored
    n_short: int  # tasks of the other runs
    every_n_batches: int  # evaluation within tasks
    n_seeds: int  # default
    n_new: int  # classes of the one-shot protocol
    settings: Mapping[str, Any] = field(default_factory=dict)  # of all runs

    def run_settings(self) -> dict[str, dict[str, Any]]:
        """The settings of each run by its name."""
        common = {"evaluation.forward_transfer": False, **self.settings}
        short = {**common, "n_tasks": self.n_short}
        every = gcd(*self.lengths)  # the largest interval that meets all
        return {
            LONG: {**common, "n_tasks": self.lengths[-1], "evaluation.every_n_tasks": every},
            NUISANCES: {**short, **{f"stream.{name}": value for name, value in STRENGTHS.items()}},
            WITHIN_TASKS: {**short, "evaluation.every_n_batches": self.every_n_batches},
        }

    def protocol(self, name: str) -> tuple[str, ...]:
        """A protocol with its options, as on the command line."""
        n_images = str(self.settings["evaluation.n_images"])
        shots = ("--n-new", str(self.n_new)) if name == "one-shot" else ()
        return (name, "--n-images", n_images, *shots)


SIZES = {
    each.name: each
    for each in (
        Size(
            name="smoke",
            description="tests that a learner runs; its scores say nothing",
            lengths=(2, 3, 4), n_short=2, every_n_batches=1, n_seeds=1, n_new=2,
            settings={
                "stream.image_size": 16, "stream.classes_per_task": 2, "stream.split": (8, 4, 4),
                "stream.factor_values": 2, "batch_size": 8, "evaluation.n_images": 30,
            },
        ),
        Size(
            name="small",
            description="20 tasks of 5 shapes at 32 px, 150 training images each, seen once",
            lengths=(5, 10, 20), n_short=5, every_n_batches=5, n_seeds=3, n_new=20,
            settings={
                "stream.image_size": 32, "stream.classes_per_task": 5, "stream.split": (150, 15, 20),
                "batch_size": 32, "evaluation.n_images": 2000,
            },
        ),
        Size(
            name="full",
            description="500 tasks of 10 shapes at 64 px, 600 training images each, seen once",
            lengths=(10, 100, 500), n_short=10, every_n_batches=10, n_seeds=3, n_new=100,
            settings={"evaluation.n_images": 5000, "evaluation.n_final_images": 50_000},
        ),
    )
}  # fmt: skip


def get_size(name: str) -> Size:
    """The size of a name.

    Example:
        >>> get_size("full").lengths
        (10, 100, 500)
    """
    if name not in SIZES:
        raise unknown("size", name, SIZES)
    return SIZES[name]


@dataclass(frozen=True)
class SuiteEntry:
    """A learner with its settings at one size of the suite.

    Example:
        >>> entry = SuiteEntry("er", get_size("smoke"), {"memory_size": 500})
        >>> entry.title, [job.folder.name for job in entry.jobs(Path("cards"), 1)]
        ('er, memory_size 500', ['long-seed-0', 'nuisances-seed-0', 'within-tasks-seed-0'])
        >>> entry.not_applicable()
        {'one-shot': 'ER has no exemplar memory that can be edited', 'open-set': 'ER has no novelty score'}
    """

    learner: str
    size: Size
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the learner, other than its defaults
    name: str = ""  # given by a user

    @property
    def title(self) -> str:
        """The name in lists: the given one, or the learner and its settings."""
        words = (f"{name} {value}" for name, value in self.settings.items())
        return self.name or ", ".join([self.learner.rpartition(":")[2], *words])

    def spec(self, run: str, seed: int = 0) -> "RunSpec":
        """The specification of a run; the seed is also that of the stream."""
        from everlearn.runs.spec import RunSpec

        own = {f"learner.{name}": value for name, value in self.settings.items()}
        seeds = {"seed": seed, "stream.seed": seed}
        return RunSpec.make(learner=self.learner, settings={**self.size.run_settings()[run], **own, **seeds})

    def folder(self, root: Path) -> Path:
        """The folder of the score card and the runs."""
        return root / self.size.name / folder_name(self.title, self.spec(LONG).hash)

    def jobs(self, root: Path, n_seeds: int) -> "list[Job]":
        """All runs; none for a learner without labels, which has no accuracy."""
        check_range("seeds", n_seeds, 1, MAX_SEEDS)
        if not self.is_classifier:
            return []
        return [self.job(run, seed, root) for seed in range(n_seeds) for run in self.size.run_settings()]

    def job(self, run: str, seed: int, root: Path) -> "Job":
        """A run of a seed, with the protocols that the learner can be evaluated on."""
        from everlearn.runs.sweep.jobs import Job

        missing = self.not_applicable()
        chosen = (self.size.protocol(name) for name in PROTOCOLS if run == LONG and name not in missing)
        folder = self.folder(root) / "runs" / f"{run}-seed-{seed}"
        return Job(spec=self.spec(run, seed), folder=folder, protocols=tuple(chosen), name=self.title)

    def not_applicable(self) -> dict[str, str]:
        """Protocols that the learner cannot be evaluated on, and why."""
        return dict(self._reasons())

    def _reasons(self) -> Iterator[tuple[str, str]]:
        from everlearn.learners.capabilities import require

        for name in PROTOCOLS:
            try:
                require(self._learner, *protocols.get(name).requires)
            except BadInput as error:
                yield name, str(error).partition(";")[0]

    @property
    def is_classifier(self) -> bool:
        """Whether the learner has an accuracy."""
        return self._learner.is_classifier

    @cached_property
    def _learner(self) -> "Learner":
        spec = self.spec(LONG)
        return spec.build_learner(spec.stream.build().image_shape)
