"""Supervised pretraining of a vision transformer or a backbone."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput, check_range
from everlearn.networks.backbones import Backbone, make_backbone
from everlearn.networks.tensors import map_batches, minimize, n_channels, seeded, to_tensor
from everlearn.networks.vit import ViT
from everlearn.rng import rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images

Progress = Callable[[float, int, str], None]

WARM_UP = 0.05
"""Fraction of the steps in which the learning rate rises; then it falls along a cosine."""
WEIGHT_DECAY = 0.05
VIT = "vit"


class ClassifierNet(nn.Module):
    """A backbone with a linear head."""

    def __init__(self, backbone: Backbone, n_classes: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(backbone.n_features, n_classes)

    def preprocess(self, images: Images) -> Tensor:
        """Images as input of the backbone."""
        return to_tensor(images)

    def classify(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> logits (n, n_classes)."""
        return self.head(self.backbone(images))


def pretrain(
    batch: Batch,
    *,
    backbone: str = VIT,
    image_size: int = 32,
    epochs: int = 2,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    seed: int = 0,
    progress: Progress = lambda *_: None,
) -> ViT | ClassifierNet:
    """A network trained to classify images; its logits are in the order of the sorted labels.

    Args:
        batch: images and labels, of at least two classes.
        backbone: "vit" for a small vision transformer, or the name of another backbone.
        image_size: input size of the transformer in pixels, a multiple of 8.
        epochs: passes over the images.
        batch_size: images per step.
        learning_rate: the largest learning rate of AdamW.
        seed: seed of the initial weights and of the order of images.
        progress: called with (steps done, steps in total, text) after each step.
    """
    check_range("epochs", epochs, 1, 10_000)
    check_range("batch_size", batch_size, 1, 65_536)
    check_range("learning_rate", learning_rate, 1e-9, 1)
    image_shape, n_classes = batch.images.shape[1:], len(np.unique(batch.labels))
    if n_classes < 2:
        raise BadInput(f"{n_classes} classes are too few to classify; give images of at least 2")
    with seeded(seed):
        net: ViT | ClassifierNet = (
            ViT(image_size=image_size, n_channels=n_channels(image_shape), n_classes=n_classes)
            if backbone == VIT
            else ClassifierNet(make_backbone(backbone, image_shape, seed), n_classes)
        )
    optimizer = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY, fused=True)
    targets = torch.from_numpy(np.searchsorted(np.unique(batch.labels), batch.labels))
    orders = (rng_at(seed, "pretraining", epoch).permutation(len(batch)) for epoch in range(epochs))
    steps = [order[i : i + batch_size] for order in orders for i in range(0, len(batch), batch_size)]
    for number, rows in enumerate(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * _lr_multiplier(number / len(steps))
        loss = functional.cross_entropy(net.classify(net.preprocess(batch.images[rows])), targets[rows])
        minimize(loss, optimizer)
        progress(number + 1, len(steps), f"loss {float(loss.detach()):.3f}")
    return net.eval()


def accuracy(net: ViT | ClassifierNet, batch: Batch, labels: Sequence[int]) -> float:
    """The accuracy of a network whose logits are those of `labels`, in this order."""
    indices = map_batches(lambda images: net.classify(net.preprocess(images)).argmax(1), batch.images)
    return float(np.mean(np.array(labels)[indices.numpy()] == batch.labels))


def _lr_multiplier(done: float) -> float:
    """The factor of the maximal learning rate when a fraction of the steps is done."""
    if done < WARM_UP:
        return 0.01 + done / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP)))
