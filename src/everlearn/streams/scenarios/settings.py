"""The settings that every stream of classes shares: which scenario, in which form."""

from abc import abstractmethod
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from everlearn.errors import BadInput
from everlearn.rng import MAX_SEED
from everlearn.streams.scenarios.base import Labelling, Scenario
from everlearn.streams.scenarios.blurry import Blurry
from everlearn.streams.scenarios.class_incremental import ClassSets, Gradual, Recurring, Sharp
from everlearn.streams.scenarios.instances import NewInstances, NewInstancesAndClasses
from everlearn.streams.settings import Count, Percent, StreamSettings
from everlearn.streams.source import Filmed, Source

ScenarioName = Literal["class-incremental", "domain-incremental", "task-incremental", "nc", "ni", "nic"]
Boundaries = Literal["sharp", "blurry", "gradual", "recurring"]

_SHARED_LABELS = ("domain-incremental", "task-incremental")
# What an endless source offers to a scenario with a fixed number of classes.
NIC_CLASSES = 50
SESSIONS = 8

_ONLY_FOR: dict[str, tuple[str, tuple[str, ...]]] = {
    "first_classes": ("scenario", ("nc", "nic")),
    "n_sessions": ("scenario", ("ni", "nic")),
    "block_tasks": ("boundaries", ("blurry",)),
    "disjoint_percent": ("boundaries", ("blurry",)),
    "blurry_percent": ("boundaries", ("blurry",)),
    "recur_every": ("boundaries", ("recurring",)),
}


class OrderedSettings(StreamSettings):
    """Settings that can put the images of a source in order."""

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """everything random follows from it"""
    n_tasks: Count | None = None
    """how many tasks; as many as there are if not said"""

    @property
    @abstractmethod
    def title(self) -> str:
        """The scenario's part of the stream's id."""


class ScenarioSettings(OrderedSettings):
    """The order in which classes and images arrive."""

    classes_per_task: Count = 10
    """new classes in every task"""
    n_classes: Count | None = None
    """classes in all; all there are if not said (of endless ones, classes_per_task for ni, 50 for nic)"""
    scenario: ScenarioName = "class-incremental"
    """class-, domain- or task-incremental; nc (new classes, more at first), ni (new instances) or nic"""
    first_classes: Count | None = None
    """nc, nic: classes in the first task (twice classes_per_task for nc, classes_per_task for nic)"""
    n_sessions: Count | None = None
    """ni, nic: parts into which a class's training images are cut (8)"""
    boundaries: Boundaries = "sharp"
    """how one task ends and the next begins: sharp, blurry, gradual or recurring"""
    block_tasks: Annotated[int, Field(ge=2, le=1000)] | None = None
    """blurry: tasks that share their strays (5)"""
    disjoint_percent: Percent | None = None
    """blurry: percentage of classes that keep to their task (50)"""
    blurry_percent: Percent | None = None
    """blurry: percentage of the other classes' images that stray (10)"""
    recur_every: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    """recurring: every so many tasks an earlier one comes back (3)"""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name, (setting, fitting) in _ONLY_FOR.items():
            if getattr(self, name) is not None and getattr(self, setting) not in fitting:
                raise BadInput(
                    f"{name} is only for {setting} {' and '.join(fitting)}, "
                    f"but {setting} is {getattr(self, setting)}; leave one of them out"
                )
        fixed = {"ni", "nic"} if self.boundaries != "blurry" else {"ni", "nic", "nc", *_SHARED_LABELS}
        if self.boundaries != "sharp" and self.scenario in fixed:
            raise BadInput(
                f"boundaries {self.boundaries} cannot be had with scenario {self.scenario}; use sharp"
            )
        return self

    @property
    def title(self) -> str:
        """The scenario's part of the stream's id."""
        return self.scenario if self.boundaries == "sharp" else f"{self.scenario}-{self.boundaries}"

    @property
    def labelling(self) -> Labelling:
        """How classes are called in this scenario."""
        modulus = self.classes_per_task if self.scenario in _SHARED_LABELS else None
        return Labelling(modulus, with_task_ids=self.scenario == "task-incremental")

    def arrange(self, source: Source) -> Scenario:
        """The order that these settings give to a source's images."""
        n_classes = self._n_classes(source)
        if self.scenario in ("ni", "nic"):
            return self._instances(source, n_classes)
        if self.boundaries == "blurry":
            return self._blurry(source, n_classes)
        first = self.first_classes or self.classes_per_task * (2 if self.scenario == "nc" else 1)
        sets = ClassSets(first, self.classes_per_task, n_classes)
        labelling = self.labelling
        if self.boundaries == "recurring":
            every = self.recur_every or 3
            return Recurring(source, sets=sets, every=every, labelling=labelling, seed=self.seed)
        kind = Gradual if self.boundaries == "gradual" else Sharp
        return kind(source, sets=sets, labelling=labelling, seed=self.seed)

    def _n_classes(self, source: Source) -> int | None:
        there_are = source.n_classes
        if there_are is not None and (self.n_classes or 0) > there_are:
            raise BadInput(f"n_classes is {self.n_classes}, but there are only {there_are}")
        n = self.n_classes or there_are
        smallest = self.first_classes or (1 if self.scenario == "ni" else self.classes_per_task)
        if n is not None and n < smallest:
            raise BadInput(f"there are {n} classes, too few for a task of {smallest}; ask for fewer per task")
        return n

    def _instances(self, source: Source, n_classes: int | None) -> Scenario:
        sessions = self.n_sessions or (len(source.sessions(0)) if isinstance(source, Filmed) else SESSIONS)
        if self.scenario == "ni":
            n = n_classes or self.classes_per_task
            return NewInstances(source, n_classes=n, sessions=sessions, seed=self.seed)
        first = self.first_classes or self.classes_per_task
        return NewInstancesAndClasses(
            source,
            n_classes=n_classes or max(NIC_CLASSES, first),
            first_classes=first,
            sessions=sessions,
            seed=self.seed,
        )

    def _blurry(self, source: Source, n_classes: int | None) -> Scenario:
        return Blurry(
            source,
            classes_per_task=self.classes_per_task,
            n_classes=n_classes,
            block_tasks=self.block_tasks or 5,
            disjoint_percent=50.0 if self.disjoint_percent is None else self.disjoint_percent,
            blurry_percent=10.0 if self.blurry_percent is None else self.blurry_percent,
            seed=self.seed,
        )
