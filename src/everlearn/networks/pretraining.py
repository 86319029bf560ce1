"""Networks taught to tell the classes of some pictures apart, for others to build upon."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.chance import IntArray, draws
from everlearn.errors import BadInput, check_range
from everlearn.networks.backbones import backbone
from everlearn.networks.tensors import seeded, to_tensor
from everlearn.networks.vit import ViT
from everlearn.streams import Batch
from everlearn.streams.batch import Images

Progress = Callable[[float, int, str], None]

WARM_UP = 0.05
"""Share of the steps in which the learning rate rises; it falls along a cosine after them."""
DECAY = 0.05
PIECE = 256


class Classifies(Protocol):
    """A network that names the classes it was trained on."""

    def seen(self, images: Images) -> Tensor:
        """Pictures as the network takes them."""

    def classify(self, images: Tensor) -> Tensor:
        """An output for each class."""


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
        """Pictures as every backbone takes them."""
        return to_tensor(images)

    def classify(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_classes)."""
        outputs: Tensor = self.head(self.body(images))
        return outputs


def pretrain(
    batch: Batch,
    *,
    epochs: int = 2,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    image_size: int = 32,
    seed: int = 0,
    progress: Progress = lambda *_: None,
) -> ViT:
    """A small vision transformer that has learned to classify pictures; its head names labels in order.

    Args:
        batch: pictures and labels, of at least two classes.
        epochs: how often each is seen.
        batch_size: pictures a step.
        learning_rate: AdamW's largest step size.
        image_size: pixels a side that the network looks at, a multiple of 8.
        seed: decides everything that is left to chance.
        progress: told (done, total, word) after each step.
    """
    with seeded(seed):
        n_channels = 1 if batch.images.ndim == 3 else 3
        net = ViT(image_size=image_size, n_channels=n_channels, n_classes=_n_classes(batch))
    _fit(net, net, batch, epochs, batch_size, learning_rate, seed, progress)
    return net.eval()


def pretrain_backbone(
    name: str,
    batch: Batch,
    *,
    epochs: int = 2,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    seed: int = 0,
    progress: Progress = lambda *_: None,
) -> Named:
    """A backbone that has learned to classify pictures; its head names labels in order.

    Args:
        name: of the backbone.
        batch: pictures and labels, of at least two classes.
        epochs: how often each is seen.
        batch_size: pictures a step.
        learning_rate: AdamW's largest step size.
        seed: decides everything that is left to chance.
        progress: told (done, total, word) after each step.
    """
    n_classes = _n_classes(batch)
    with seeded(seed):
        net = Named(backbone(name, batch.images.shape[1:], seed), n_classes)
    _fit(net, net, batch, epochs, batch_size, learning_rate, seed, progress)
    return net.eval()


def _n_classes(batch: Batch) -> int:
    n_classes = len(np.unique(batch.labels))
    if n_classes < 2:
        raise BadInput(f"{n_classes} classes cannot be told apart; give pictures of at least 2")
    return n_classes


def _fit(
    module: nn.Module, net: Classifies, batch: Batch, epochs: int, batch_size: int, learning_rate: float,
    seed: int, progress: Progress,
) -> None:  # fmt: skip
    """Teach a network, which is both module and net, the labels of a batch in their order."""
    check_range("epochs", epochs, 1, 10_000)
    check_range("batch_size", batch_size, 1, 65_536)
    check_range("learning_rate", learning_rate, 1e-9, 1)
    labels = np.unique(batch.labels)
    optimiser = torch.optim.AdamW(module.parameters(), lr=learning_rate, weight_decay=DECAY, fused=True)
    targets = torch.from_numpy(np.searchsorted(labels, batch.labels))
    steps = [
        rows
        for epoch in range(epochs)
        for rows in _pieces(draws(seed, "pretraining", epoch).permutation(len(batch)), batch_size)
    ]
    for number, rows in enumerate(steps):
        _set_rate(optimiser, learning_rate * _share(number / len(steps)))
        loss = functional.cross_entropy(net.classify(net.seen(batch.images[rows])), targets[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        progress(number + 1, len(steps), f"loss {float(loss.detach()):.3f}")


@torch.no_grad()
def accuracy(net: Classifies, batch: Batch, labels: Sequence[int]) -> float:
    """The share of pictures whose class the network names; its outputs stand for `labels`, in this order."""
    pieces = [net.classify(net.seen(piece.images)).argmax(1).numpy() for piece in batch.pieces(PIECE)]
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
