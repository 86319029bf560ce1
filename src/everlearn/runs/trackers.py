"""Experiment trackers: TensorBoard and Weights & Biases."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from everlearn.errors import import_optional
from everlearn.runs.events import Event, Probed, Scored, TaskEnded, TrainStep

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter
    from wandb import Run


def check_installed(*, tensorboard: bool = False, wandb: bool = False) -> None:
    """Raise an error with advice if a package is not installed."""
    for package, is_needed in (("tensorboard", tensorboard), ("wandb", wandb)):
        if is_needed:
            import_optional(package, f"pip install 'everlearn[{package}]'")


def to_tensorboard(events: Iterator[Event], folder: Path | str) -> Iterator[Event]:
    """Pass events on and write losses and accuracies for TensorBoard.

    Example:
        >>> spec = RunSpec.make(learner="er")  # doctest: +SKIP
        >>> for event in to_tensorboard(record(spec, "records/er"), "tensorboard/er"):  # doctest: +SKIP
        ...     pass
    """
    check_installed(tensorboard=True)
    from torch.utils.tensorboard import SummaryWriter

    return _to_tensorboard(events, SummaryWriter(str(folder)))


def to_wandb(
    events: Iterator[Event],
    *,
    project: str = "everlearn",
    name: str | None = None,
    mode: Literal["online", "offline", "disabled"] | None = None,
) -> Iterator[Event]:
    """Pass events on and log losses and accuracies to Weights & Biases."""
    check_installed(wandb=True)
    import wandb

    return _to_wandb(events, wandb.init(project=project, name=name, mode=mode))


def scalars(event: Event) -> dict[str, float]:
    """The scalars that a tracker logs for an event.

    Example:
        >>> scalars(Scored(task=1, eval_tasks=(0, 1), n_correct=(3, 4), n_images=(4, 4)))
        {'accuracy': 0.875}
    """
    match event:
        case TrainStep():
            return {f"train/{name}": value for name, value in event.losses.items()}
        case Scored(n_batches=None):
            errors = {f"error/{name}": value for name, value in event.factor_errors.items()}
            return {"accuracy": event.accuracy, **errors}
        case Scored():
            return {"within_task/accuracy": event.accuracy}
        case Probed():
            return {
                f"probe/{environment}/{name}": value
                for environment, result in event.results.items()
                for name, value in result.items()
            }
        case TaskEnded():
            sizes = {"weights_bytes": event.weights_bytes, "memory_bytes": event.memory_bytes}
            return {**sizes, "flops": event.flops}
    return {}


def _to_tensorboard(events: Iterator[Event], writer: "SummaryWriter") -> Iterator[Event]:
    with writer:
        for step, event in enumerate(events):
            for name, value in scalars(event).items():
                writer.add_scalar(name, value, step)
            yield event


def _to_wandb(events: Iterator[Event], run: "Run") -> Iterator[Event]:
    with run:
        for event in events:
            if values := scalars(event):
                run.log(values)
            yield event
