"""Networks taught to tell the classes of some images apart, for others to build upon."""

import math
from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack, overload

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput, check_range
from everlearn.networks.backbones import make_backbone
from everlearn.networks.tensors import seeded, to_tensor
from everlearn.networks.vit import ViT
from everlearn.rng import IntArray, rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images

Progress = Callable[[float, int, str], None]

WARM_UP = 0.05
"""Share of the steps in which the learning rate rises; it falls along a cosine after them."""
DECAY = 0.05
VIT = "vit"
PIECE = 256


class How(TypedDict, total=False):
    """How a network is taught."""

    epochs: int
    batch_size: int
    learning_rate: float
    seed: int
    progress: Progress


class Named(nn.Module):
    """A backbone with outputs for some classes.

    Args:
        body: makes features of images.
        n_classes: how many outputs.
    """

    def __init__(self, body: nn.Module, n_classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(int(body.n_features), n_classes)  # type: ignore[arg-type]  # a module's number

    def seen(self, images: Images) -> Tensor:
        """Images as every backbone takes them."""
        return to_tensor(images)

    def classify(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_classes)."""
        outputs: Tensor = self.head(self.body(images))
        return outputs


@overload
def pretrain(batch: Batch, *, image_size: int = 32, **how: Unpack[How]) -> ViT: ...


@overload
def pretrain(batch: Batch, *, backbone: str, image_size: int = 32, **how: Unpack[How]) -> "ViT | Named": ...


def pretrain(batch: Batch, *, backbone: str = VIT, image_size: int = 32, **how: Unpack[How]) -> "ViT | Named":
    """A network that has learned to classify images; its head names labels in order.

    Args:
        batch: images and labels, of at least two classes.
        backbone: "vit" for a small vision transformer, or the name of another backbone.
        image_size: pixels a side that the transformer looks at, a multiple of 8.
        how: epochs, batch_size, learning_rate (the largest of AdamW), seed and progress, told (done, total,
            word) after each step.
    """
    seed, n_classes = how.get("seed", 0), _n_classes(batch)
    with seeded(seed):
        n_channels = 1 if batch.images.ndim == 3 else 3
        net = (
            ViT(image_size=image_size, n_channels=n_channels, n_classes=n_classes)
            if backbone == VIT
            else Named(make_backbone(backbone, batch.images.shape[1:], seed), n_classes)
        )
    _fit(net, batch, **how)
    return net.eval()


def _n_classes(batch: Batch) -> int:
    n_classes = len(np.unique(batch.labels))
    if n_classes < 2:
        raise BadInput(f"{n_classes} classes cannot be told apart; give images of at least 2")
    return n_classes


def _fit(
    net: ViT | Named,
    batch: Batch,
    *,
    epochs: int = 2,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    seed: int = 0,
    progress: Progress = lambda *_: None,
) -> None:
    check_range("epochs", epochs, 1, 10_000)
    check_range("batch_size", batch_size, 1, 65_536)
    check_range("learning_rate", learning_rate, 1e-9, 1)
    labels = np.unique(batch.labels)
    optimiser = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=DECAY, fused=True)
    targets = torch.from_numpy(np.searchsorted(labels, batch.labels))
    steps = [
        rows
        for epoch in range(epochs)
        for rows in _pieces(rng_at(seed, "pretraining", epoch).permutation(len(batch)), batch_size)
    ]
    for number, rows in enumerate(steps):
        _set_rate(optimiser, learning_rate * _share(number / len(steps)))
        loss = functional.cross_entropy(net.classify(net.seen(batch.images[rows])), targets[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        progress(number + 1, len(steps), f"loss {float(loss.detach()):.3f}")


@torch.no_grad()
def accuracy(net: ViT | Named, batch: Batch, labels: Sequence[int]) -> float:
    """The share of images whose class the network names; its outputs stand for `labels`, in this order."""
    pieces = [net.classify(net.seen(piece.images)).argmax(1).numpy() for piece in batch.batches(PIECE)]
    return float(np.mean(np.array(labels)[np.concatenate(pieces)] == batch.labels))


def _pieces(rows: IntArray, size: int) -> list[IntArray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _share(done: float) -> float:
    """The learning rate's share of its largest."""
    if done < WARM_UP:
        return 0.01 + done / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP)))


def _set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate
