"""Settings of scenarios, shared by all streams of classes."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from everlearn.errors import BadInput
from everlearn.rng import MAX_SEED
from everlearn.streams.scenarios.base import LabelMap, Scenario
from everlearn.streams.scenarios.blurry import Blurry
from everlearn.streams.scenarios.class_incremental import (
    ClassIncremental,
    ClassSets,
    GradualClassIncremental,
    RecurringClassIncremental,
)
from everlearn.streams.scenarios.instances import NewInstances, NewInstancesAndClasses
from everlearn.streams.settings import Count, Percent, StreamSettings
from everlearn.streams.source import HasSessions, Source

if TYPE_CHECKING:
    from everlearn.streams.scenario_stream import ScenarioStream

ScenarioName = Literal["class-incremental", "domain-incremental", "task-incremental", "nc", "ni", "nic"]
Boundaries = Literal["sharp", "blurry", "gradual", "recurring"]

NIC_CLASSES = 50
"""Classes of an infinite source in the scenario nic."""
N_SESSIONS = 8
FIRST_CLASSES = 10
"""Classes in the first task of sources with sessions."""

_SHARED_LABELS = ("domain-incremental", "task-incremental")
_ONLY_FOR: dict[str, tuple[str, tuple[str, ...]]] = {
    "first_classes": ("scenario", ("nc", "nic")),
    "n_sessions": ("scenario", ("ni", "nic")),
    "sessions_per_task": ("scenario", ("nic",)),
    "block_tasks": ("boundaries", ("blurry",)),
    "disjoint_percent": ("boundaries", ("blurry",)),
    "blurry_percent": ("boundaries", ("blurry",)),
    "recur_every": ("boundaries", ("recurring",)),
}


class ScenarioStreamSettings(StreamSettings):
    """Settings of a stream made of a source and a scenario."""

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """seed of everything random"""
    n_tasks: Count | None = None
    """number of tasks; default: all"""

    @property
    @abstractmethod
    def title(self) -> str:
        """The scenario's part of the stream id."""


class ScenarioSettings(ScenarioStreamSettings):
    """Settings of a scenario over classes.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(scenario="nc", first_classes=4, classes_per_task=2)
        >>> [task.labels for task in stream.take(2)]
        [(0, 1, 2, 3), (4, 5)]
    """

    classes_per_task: Count = 10
    """new classes per task"""
    n_classes: Count | None = None
    """number of classes; default: all (infinite sources: classes_per_task for ni, 50 for nic)"""
    scenario: ScenarioName = "class-incremental"
    """class-, domain- or task-incremental; nc (new classes, larger first task), ni (new instances) or nic"""
    first_classes: Count | None = None
    """nc, nic: classes in the first task; default: twice classes_per_task (nc), classes_per_task (nic)"""
    n_sessions: Count | None = None
    """ni, nic: sessions per class; default: 8"""
    sessions_per_task: Count | None = None
    """nic: sessions in every task after the first; default: 1"""
    boundaries: Boundaries = "sharp"
    """boundaries between tasks: sharp, blurry, gradual or recurring"""
    block_tasks: Annotated[int, Field(ge=2, le=1000)] | None = None
    """blurry: tasks that exchange samples; default: 5"""
    disjoint_percent: Percent | None = None
    """blurry: percentage of classes that occur in one task only; default: 50"""
    blurry_percent: Percent | None = None
    """blurry: percentage of the other classes' images that are exchanged; default: 10"""
    recur_every: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    """recurring: every n-th task repeats an earlier one; default: 3"""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        for name, (setting, values) in _ONLY_FOR.items():
            if getattr(self, name) is not None and getattr(self, setting) not in values:
                raise BadInput(
                    f"{name} is only for {setting} {' and '.join(values)}, "
                    f"but {setting} is {getattr(self, setting)}; remove one of them"
                )
        only_sharp = {"ni", "nic"} if self.boundaries != "blurry" else {"ni", "nic", "nc", *_SHARED_LABELS}
        if self.boundaries != "sharp" and self.scenario in only_sharp:
            raise BadInput(
                f"boundaries {self.boundaries} cannot be combined with scenario {self.scenario}; use sharp"
            )
        return self

    @property
    def title(self) -> str:
        return self.scenario if self.boundaries == "sharp" else f"{self.scenario}-{self.boundaries}"

    @abstractmethod
    def source(self) -> Source:
        """The source of images."""

    def build(self) -> "ScenarioStream":
        from everlearn.streams.scenario_stream import ScenarioStream  # which imports this package

        return ScenarioStream(spec=self, scenario=self.make_scenario(self.source()))

    def make_scenario(self, source: Source) -> Scenario:
        """The scenario over a source."""
        n_classes, seed = self._n_classes(source), self.seed
        first = self._first_classes(n_classes)
        if self.scenario in ("ni", "nic"):
            recorded = len(source.sessions(0)) if isinstance(source, HasSessions) else N_SESSIONS
            n_sessions = self.n_sessions or recorded
            if self.scenario == "ni":
                n = n_classes or self.classes_per_task
                return NewInstances(source=source, seed=seed, n_classes=n, n_sessions=n_sessions)
            n = n_classes or max(NIC_CLASSES, first)
            return NewInstancesAndClasses(
                source=source,
                seed=seed,
                n_classes=n,
                n_sessions=n_sessions,
                first_classes=first,
                sessions_per_task=self.sessions_per_task or 1,
            )
        if self.boundaries == "blurry":
            return Blurry(
                source=source,
                seed=seed,
                classes_per_task=self.classes_per_task,
                n_classes=n_classes,
                block_tasks=self.block_tasks or 5,
                disjoint_percent=50.0 if self.disjoint_percent is None else self.disjoint_percent,
                blurry_percent=10.0 if self.blurry_percent is None else self.blurry_percent,
            )
        sets = ClassSets(first, self.classes_per_task, n_classes)
        modulus = self.classes_per_task if self.scenario in _SHARED_LABELS else None
        labels = LabelMap(modulus, with_task_ids=self.scenario == "task-incremental")
        if self.boundaries == "recurring":
            every = self.recur_every or 3
            return RecurringClassIncremental(
                source=source, seed=seed, label_map=labels, sets=sets, every=every
            )
        scenario = GradualClassIncremental if self.boundaries == "gradual" else ClassIncremental
        return scenario(source=source, seed=seed, label_map=labels, sets=sets)

    def _first_classes(self, n_classes: int | None) -> int:
        return self.first_classes or self.classes_per_task * (2 if self.scenario == "nc" else 1)

    def _n_classes(self, source: Source) -> int | None:
        if source.n_classes is not None and (self.n_classes or 0) > source.n_classes:
            raise BadInput(f"n_classes is {self.n_classes}, but there are only {source.n_classes}")
        n = self.n_classes or source.n_classes
        smallest = self.first_classes or (1 if self.scenario == "ni" else self.classes_per_task)
        if n is not None and n < smallest:
            raise BadInput(
                f"there are {n} classes, too few for a task of {smallest}; reduce classes_per_task"
            )
        return n


class SessionSettings(ScenarioSettings):
    """Settings for objects recorded in sessions: nc (ten objects, then five per task), nic or ni."""

    classes_per_task: Count = 5
    """new classes in every task after the first"""
    scenario: ScenarioName = "nc"
    """nc (new classes, larger first task), nic (one session of one class per task), ni (new instances)"""

    def _first_classes(self, n_classes: int | None) -> int:
        fits = self.classes_per_task <= FIRST_CLASSES <= (n_classes or FIRST_CLASSES)
        if fits and self.first_classes is None and self.scenario in ("nc", "nic"):
            return FIRST_CLASSES
        return super()._first_classes(n_classes)
