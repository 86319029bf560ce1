"""Events of a run and of a sweep.

Events of a run contain nothing that depends on the clock or the machine: equal specs yield equal events,
byte for byte, however often a run is interrupted. Listeners measure time themselves.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

MemoryAction = Literal["add", "rename", "forget"]
"""Edits of a class in an exemplar memory."""


@dataclass(frozen=True)
class Event:
    """Base class of events."""

    kind: ClassVar[str] = "event"  # the name of the event in logs
    checkpointable: ClassVar[bool] = False  # whether a run can be checkpointed right after this event

    def to_json(self) -> dict[str, Any]:
        """The event as plain JSON values."""
        return {"event": self.kind, **asdict(self)}


@dataclass(frozen=True)
class RunStarted(Event):
    """First event of a run. `supervision` is what the learner gets besides labelled images."""

    kind = "run-started"
    spec: str
    stream: str
    fingerprint: str
    learner: str
    supervision: str
    n_tasks: int


@dataclass(frozen=True)
class TaskStarted(Event):
    """Training on a task starts."""

    kind = "task-started"
    task: int
    labels: tuple[int, ...]  # that occur in it
    zero_shot_accuracy: float | None = None  # accuracy on it before training on it
    chance_accuracy: float | None = None  # of the same predictions in random order; None if it is zero

    def to_json(self) -> dict[str, Any]:
        values = super().to_json()
        if self.chance_accuracy is None:
            del values["chance_accuracy"]
        return values


@dataclass(frozen=True)
class TrainStep(Event):
    """The learner was trained on one batch."""

    kind = "train-step"
    checkpointable = True
    task: int
    epoch: int
    batch: int
    n_batches: int
    n_images: int
    losses: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class EvaluationProgress(Event):
    """`done` of `total` images (of environments, for probes) are evaluated."""

    kind = "evaluation-progress"
    checkpointable = True
    task: int
    done: int
    total: int
    before_training: bool = False


@dataclass(frozen=True)
class Scored(Event):
    """Accuracy on tasks seen so far, after or (with `n_batches`) within a task."""

    kind = "scored"
    task: int  # the last task trained on
    eval_tasks: tuple[int, ...]  # the tasks that the images come from
    n_correct: tuple[int, ...]  # correct predictions for each of `eval_tasks`
    n_images: tuple[int, ...]  # images of each of `eval_tasks`
    n_batches: int | None = None  # training batches of the task before this evaluation; None after the task
    factor_errors: dict[str, float] = field(default_factory=dict)  # mean errors, of learners that estimate

    @property
    def accuracy(self) -> float:
        """Accuracy over all images."""
        return accuracy(self.n_correct, self.n_images)


def accuracy(n_correct: Sequence[int], n_images: Sequence[int]) -> float:
    """Accuracy over all images of an evaluation; 0 without images."""
    return sum(n_correct) / max(1, sum(n_images))


@dataclass(frozen=True)
class Probed(Event):
    """Probes of the codes of a learner without a classifier, after or (with `n_batches`) within a task.

    `results` are, for each environment of the run, seen or not, the accuracy of labels ("object") and the
    mean squared error of each other factor that varies in it.
    """

    kind = "probed"
    task: int  # the last task trained on
    environment: str  # the environment of that task
    results: dict[str, dict[str, float]]
    n_batches: int | None = None  # as in `Scored`

    @property
    def accuracy(self) -> float:
        """Mean accuracy of labels over environments."""
        values = [result["object"] for result in self.results.values() if "object" in result]
        return sum(values) / max(1, len(values))


@dataclass(frozen=True)
class TaskEnded(Event):
    """A task was trained on and evaluated."""

    kind = "task-ended"
    checkpointable = True
    task: int
    n_images: int  # training images, each counted once per epoch
    losses: dict[str, float]  # mean of each loss over the batches of the task
    weights_bytes: int  # size of the learner's weights
    memory_bytes: int  # size of its memory
    flops: float  # estimated training FLOPs since the start of the run


@dataclass(frozen=True)
class MemoryEdited(Event):
    """A user edited the exemplar memory. Contains neither the name nor images of the class."""

    kind = "memory-edited"
    n_tasks: int  # tasks trained on before the edit
    action: MemoryAction
    label: int
    n_images: int  # images of the class in memory after the edit
    memory_bytes: int  # size of the memory after the edit


@dataclass(frozen=True)
class RunEnded(Event):
    """Last event of a run. `digest` is equal for equal runs, interrupted or not."""

    kind = "run-ended"
    n_tasks: int
    digest: str


@dataclass(frozen=True)
class SweepStarted(Event):
    """All jobs were checked."""

    kind = "sweep-started"
    n_jobs: int
    n_finished: int  # jobs that were finished before
    seconds: float | None  # estimated time for the others, if known for every job


@dataclass(frozen=True)
class JobEvent(Event):
    """Base class of events of one job: its name and the folder of its record."""

    job: str
    record: str


@dataclass(frozen=True)
class JobStarted(JobEvent):
    """A process was started for a job. `attempt` counts from 1."""

    kind = "job-started"
    attempt: int


@dataclass(frozen=True)
class JobProgress(JobEvent):
    """A job made progress."""

    kind = "job-progress"
    stage: str  # "training" or the protocol being evaluated
    done: int  # tasks finished
    n_tasks: int | None  # tasks of the run; None until it starts
    accuracy: float | None  # accuracy of the latest evaluation, if any


@dataclass(frozen=True)
class JobFinished(JobEvent):
    """The run and its protocols are finished, `seconds` after the job was started."""

    kind = "job-finished"
    seconds: float
    accuracy: float | None


@dataclass(frozen=True)
class JobFailed(JobEvent):
    """A job failed with an error message. With `will_retry` it is started again."""

    kind = "job-failed"
    reason: str
    will_retry: bool


@dataclass(frozen=True)
class SweepStopping(Event):
    """A stop signal was received; `n_running` jobs save a checkpoint and end."""

    kind = "sweep-stopping"
    signal: int
    n_running: int


@dataclass(frozen=True)
class SweepEnded(Event):
    """No job is running any more."""

    kind = "sweep-ended"
    n_finished: int  # finished jobs, including those finished before
    n_failed: int
    n_left: int  # jobs that were stopped or not started
    seconds: float
    signal: int | None
