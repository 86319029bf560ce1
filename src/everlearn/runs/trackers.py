"""Other people's instruments: they listen to a run and change nothing in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from everlearn.errors import BadInput
from everlearn.runs import events as tell

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter
    from wandb import Run


def to_tensorboard(story: Iterator[tell.Event], folder: Path | str) -> Iterator[tell.Event]:
    """Pass events on, writing losses and accuracies where TensorBoard finds them.

    Example:
        >>> spec = RunSpec.make(learner="er")  # doctest: +SKIP
        >>> for event in to_tensorboard(record(spec, "records/er"), "tensorboard/er"):  # doctest: +SKIP
        ...     pass
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise BadInput(
            "TensorBoard is not installed; install the package tensorboard, or do without"
        ) from None
    return _to_tensorboard(story, SummaryWriter(str(folder)))


def to_wandb(
    story: Iterator[tell.Event],
    *,
    project: str = "everlearn",
    mode: Literal["online", "offline", "disabled"] = "online",
) -> Iterator[tell.Event]:
    """Pass events on, writing losses and accuracies to Weights & Biases."""
    try:
        import wandb
    except ImportError:
        raise BadInput(
            "Weights & Biases is not installed; install the package wandb, or do without"
        ) from None
    return _to_wandb(story, wandb.init(project=project, mode=mode))


def figures(event: tell.Event) -> dict[str, float]:
    """The numbers in an event that are worth a curve.

    Example:
        >>> figures(tell.Scored(task=1, tasks=(0, 1), correct=(3, 4), total=(4, 4)))
        {'accuracy': 0.875}
    """
    match event:
        case tell.Learned():
            return {f"learn/{name}": value for name, value in event.losses.items()}
        case tell.Scored(batch=None):
            errors = {f"error/{name}": value for name, value in event.factor_errors.items()}
            return {"accuracy": event.accuracy, **errors}
        case tell.Scored():
            return {"inside/accuracy": event.accuracy}
        case tell.Probed():
            read = event.found.items()
            return {f"probe/{place}/{name}": value for place, found in read for name, value in found.items()}
        case tell.TaskEnded():
            held = {"weights_bytes": event.weights_bytes, "memory_bytes": event.memory_bytes}
            return {**held, "flops": event.flops}
    return {}


def _to_tensorboard(story: Iterator[tell.Event], writer: "SummaryWriter") -> Iterator[tell.Event]:
    with writer:
        for moment, event in enumerate(story):
            for name, value in figures(event).items():
                writer.add_scalar(name, value, moment)
            yield event


def _to_wandb(story: Iterator[tell.Event], run: "Run") -> Iterator[tell.Event]:
    with run:
        for event in story:
            if found := figures(event):
                run.log(found)
            yield event
