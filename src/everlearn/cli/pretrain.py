"""`everlearn pretrain`: train a backbone that learners start from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import ANY_STREAM, StreamChoice, Whole
from everlearn.cli.output import CommandResult, Console, ConsoleArg

if TYPE_CHECKING:
    from everlearn.streams import Stream

VIT = "vit"
FASHION = {"stream": "fashion", "classes_per_task": 10, "image_size": 32, "drawn_size": 28}
"""All of Fashion-MNIST in one task, at the input size of the ViT."""

Out = Annotated[Path, Parameter(name=["--out", "-o"], metavar="FILE")]


def pretrain(
    stream: StreamChoice = ANY_STREAM,
    *,
    out: Out = Path("vit.safetensors"),
    backbone: str = VIT,
    epochs: Whole = 2,
    batch_size: Whole = 64,
    learning_rate: float = 1e-3,
    console: ConsoleArg,
) -> CommandResult:
    """Pretrain a backbone on the first task of a stream.

    l2p starts from a small ViT; cwr*, ar1 and gnr start from a CNN. Takes minutes on one core, and starts
    over if it is interrupted.

    Args:
        stream: The stream; default: all of Fashion-MNIST in one task.
        out: The .safetensors file to write.
        backbone: vit, or a backbone of learners such as pooled-renorm.
        epochs: Passes over the images.
        batch_size: Images per training step.
        learning_rate: Maximum learning rate.
    """
    files.check_output(out, [".safetensors"])
    options = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    data = pretrain_backbone(_stream(stream), out, console, backbone, **options)
    accuracy, n_classes = data["accuracy"], data["classes"]
    return CommandResult(data, lambda: f"{out}: test accuracy {accuracy:.3f} on {n_classes} classes")


def pretrain_backbone(
    stream: "Stream", out: Path, console: Console, backbone: str, **options: Any
) -> dict[str, Any]:
    """Pretrain a backbone, write its weights to a file, and evaluate it."""
    from everlearn.networks import pretraining, weights
    from everlearn.networks.vit import ViT

    task = stream.task(0)
    with console.progress(f"Pretraining on {stream.id}") as update:
        net = pretraining.pretrain(task.train, backbone=backbone, progress=update, **options)
    if isinstance(net, ViT):
        weights.save_weights(net, out)
    else:
        weights.save_weights(net.backbone, out, backbone=backbone, image_shape=task.train.images.shape[1:])
    classes = sorted(set(task.train.labels.tolist()))
    return {
        "out": str(out),
        "stream": stream.id,
        "classes": len(classes),
        "images": len(task.train),
        "epochs": options["epochs"],
        "accuracy": pretraining.accuracy(net, task.test, classes),
    }


def _stream(choice: StreamChoice) -> "Stream":
    from everlearn import streams

    if choice.stream is None and choice.spec is None and choice.exported is None:
        return streams.build({**FASHION, **{k: v for k, v in choice.settings().items() if k != "stream"}})
    return choice.build()
