"""What happens in a run, as it is told to whoever listens.

Events carry nothing that depends on the clock or the machine: the same spec tells the same story, byte
for byte, however often it was interrupted. Seconds are measured by the listeners.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

Act = Literal["add", "rename", "forget"]
"""What people can do to a class that is remembered."""


@dataclass(frozen=True)
class Event:
    """Something that happened. `safe` events are moments at which a checkpoint can be taken."""

    kind: ClassVar[str] = "event"
    safe: ClassVar[bool] = False

    def to_json(self) -> dict[str, Any]:
        """The event as plain JSON values."""
        return {"event": self.kind, **asdict(self)}


@dataclass(frozen=True)
class RunStarted(Event):
    """The run is about to play its first task. `given` says what the learner is given beyond its rivals."""

    kind = "run-started"
    spec: str
    stream: str
    fingerprint: str
    learner: str
    given: str
    n_tasks: int


@dataclass(frozen=True)
class TaskStarted(Event):
    """A task is about to be learned.

    Attributes:
        task: which one.
        labels: the labels that occur in it.
        ahead: accuracy on it before anything of it was seen.
        chance: what the same answers would score if they were dealt to the images at random; None if
            that is nothing, as where all labels are new.
    """

    kind = "task-started"
    task: int
    labels: tuple[int, ...]
    ahead: float | None = None
    chance: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The event as plain JSON values, as it was before there was `chance` where there is none."""
        told = super().to_json()
        return told if self.chance is not None else {k: v for k, v in told.items() if k != "chance"}


@dataclass(frozen=True)
class Learned(Event):
    """The learner took in one batch."""

    kind = "learned"
    safe = True
    task: int
    epoch: int
    batch: int
    n_batches: int
    n_images: int
    losses: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LookingAhead(Event):
    """The learner is asked about a task it has not met: so many of so many images are answered."""

    kind = "looking-ahead"
    safe = True
    task: int
    done: int
    total: int


@dataclass(frozen=True)
class Scoring(Event):
    """An evaluation is under way: so many of so many images (or environments, for probes) are done."""

    kind = "scoring"
    safe = True
    task: int
    done: int
    total: int


@dataclass(frozen=True)
class Scored(Event):
    """Right answers on images of past tasks, after (or, with `batch`, inside) a task.

    Attributes:
        task: the task that was just learned.
        tasks: the tasks the images came from, in order.
        correct: right answers for each of `tasks`.
        total: images of each of `tasks`.
        batch: batches of this task learned so far, if it is not over yet.
        factor_errors: mean error in each factor, for learners that estimate factors.
    """

    kind = "scored"
    task: int
    tasks: tuple[int, ...]
    correct: tuple[int, ...]
    total: tuple[int, ...]
    batch: int | None = None
    factor_errors: dict[str, float] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """The share of right answers over all images."""
        return sum(self.correct) / max(1, sum(self.total))


@dataclass(frozen=True)
class Probed(Event):
    """What can be read from the codes of a learner that answers nothing, after (or inside) a task.

    Attributes:
        task: the task that was just learned.
        shown: the environment that it shows.
        found: for each environment of the run, met or not, how well "object", "position" and whatever else
            varies there is read: the share of right labels, mean squared errors of all others.
        batch: batches of this task learned so far, if it is not over yet.
    """

    kind = "probed"
    task: int
    shown: str
    found: dict[str, dict[str, float]]
    batch: int | None = None

    @property
    def accuracy(self) -> float:
        """The share of labels that are read rightly, mean over environments."""
        shares = [found["object"] for found in self.found.values() if "object" in found]
        return sum(shares) / max(1, len(shares))


@dataclass(frozen=True)
class TaskEnded(Event):
    """A task is learned and scored.

    Attributes:
        task: which one.
        n_images: images learned from, each as often as it was shown.
        losses: the mean of each loss over the batches of the task.
        weights_bytes: what the learner holds in weights.
        memory_bytes: what it holds in memory.
        flops: estimated operations spent on learning since the run began.
    """

    kind = "task-ended"
    safe = True
    task: int
    n_images: int
    losses: dict[str, float]
    weights_bytes: int
    memory_bytes: int
    flops: float


@dataclass(frozen=True)
class MemoryEdited(Event):
    """Somebody changed by hand what the learner remembers; from here on the run is another.

    It says nothing that a class to be forgotten could be known by: neither its name nor its images.

    Attributes:
        n_tasks: tasks that were learned before.
        act: what was done.
        label: the class it was done to.
        n_images: images of it that are kept since.
        memory_bytes: what the learner holds in memory since.
    """

    kind = "memory-edited"
    n_tasks: int
    act: Act
    label: int
    n_images: int
    memory_bytes: int


@dataclass(frozen=True)
class RunEnded(Event):
    """Every task was played. `digest` is equal for equal runs whatever interrupted them."""

    kind = "run-ended"
    n_tasks: int
    digest: str
