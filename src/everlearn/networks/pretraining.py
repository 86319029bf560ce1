"""A vision transformer taught to tell the classes of some pictures apart, for others to build upon."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.nn import functional

from everlearn.chance import IntArray, draws
from everlearn.errors import BadInput, check_range
from everlearn.networks.tensors import seeded
from everlearn.networks.vit import ViT
from everlearn.streams import Batch

Progress = Callable[[float, int, str], None]

WARM_UP = 0.05
"""Share of the steps in which the learning rate rises; it falls along a cosine after them."""
DECAY = 0.05
PIECE = 256


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
    labels = np.unique(batch.labels)
    check_range("epochs", epochs, 1, 10_000)
    check_range("batch_size", batch_size, 1, 65_536)
    check_range("learning_rate", learning_rate, 1e-9, 1)
    if len(labels) < 2:
        raise BadInput(f"{len(labels)} classes cannot be told apart; give pictures of at least 2")
    with seeded(seed):
        n_channels = 1 if batch.images.ndim == 3 else 3
        net = ViT(image_size=image_size, n_channels=n_channels, n_classes=len(labels))
    optimiser = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=DECAY, fused=True)
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
    return net.eval()


@torch.no_grad()
def accuracy(net: ViT, batch: Batch, labels: Sequence[int]) -> float:
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
