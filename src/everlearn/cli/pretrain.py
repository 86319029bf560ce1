"""`everlearn pretrain`: make the network that some learners start from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.cli.arguments import ANY_STREAM, StreamChoice, Whole, check_path
from everlearn.cli.output import Answer, Screen, Shown
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.streams import Stream


Out = Parameter(name=["--out", "-o"], metavar="FILE")

VIT = "vit"
CLOTHES = {"stream": "fashion", "classes_per_task": 10, "image_size": 32, "drawn_size": 28}
"""All of Fashion-MNIST in one task, as large as the network looks at it."""


def pretrain(
    stream: StreamChoice = ANY_STREAM,
    *,
    out: Annotated[Path, Out] = Path("vit.safetensors"),
    backbone: str = VIT,
    epochs: Whole = 2,
    batch_size: Whole = 64,
    learning_rate: float = 1e-3,
    screen: Shown,
) -> Answer:
    """Train a network on the first task of a stream, for learners that start from one on another.

    l2p prompts a small vision transformer; cwr*, ar1 and gnr start from a backbone.

    Takes minutes on one core, and starts over if it is interrupted.

    Args:
        stream: Which stream; all of Fashion-MNIST as one task if not said.
        out: The .safetensors file to write.
        backbone: Which network: vit, or one that learners have, such as pooled-renorm.
        epochs: Passes over the images.
        batch_size: Images per step.
        learning_rate: The largest step size.
        screen: Where progress is shown.
    """
    _check_out(out)
    how = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    facts = teach(_built(stream), out, screen, backbone, **how)
    told = f"{out} tells {facts['classes']} classes apart with accuracy {facts['accuracy']:.3f}"
    return Answer(facts, lambda: told)


def teach(stream: "Stream", out: Path, screen: Screen, backbone: str, **how: Any) -> dict[str, Any]:
    """Train a network on the first task of a stream, write it to a file, and say how well it does."""
    from everlearn.networks import pretraining, weights
    from everlearn.networks.vit import ViT

    task = stream.task(0)
    with screen.progress(f"Pretraining on {stream.id}") as progress:
        net = pretraining.pretrain(task.train, backbone=backbone, progress=progress, **how)
    weights.save_weights(net if isinstance(net, ViT) else net.backbone, out)
    classes = sorted(set(task.train.labels.tolist()))
    return {
        "out": str(out),
        "stream": stream.id,
        "classes": len(classes),
        "images": len(task.train),
        "epochs": how["epochs"],
        "accuracy": pretraining.accuracy(net, task.test, classes),
    }


def _built(choice: StreamChoice) -> "Stream":
    from everlearn import streams

    if choice.stream is None and choice.spec is None and choice.exported is None:
        return streams.build({**CLOTHES, **{k: v for k, v in choice.settings().items() if k != "stream"}})
    return choice.build()


def _check_out(out: Path) -> None:
    path = check_path(out)
    if path.suffix != ".safetensors" or path.is_dir() or not path.parent.is_dir():
        raise BadInput(
            f"cannot write weights to {str(path)!r}; give a name that ends in .safetensors, in a folder "
            "that exists"
        )
