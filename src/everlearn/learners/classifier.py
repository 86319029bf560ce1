"""The base class of learners that train a network with one logit per label."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.averaging import AveragedNet
from everlearn.learners.base import Learner, Losses, setting
from everlearn.learners.stateful import Names
from everlearn.networks.backbones import IncrementalNet, make_backbone
from everlearn.networks.devices import loss_value, loss_values
from everlearn.networks.distributed import data_parallel
from everlearn.networks.normalization import freeze_batch_norm, keep_statistics
from everlearn.networks.tensors import (
    flops_per_image,
    map_batches,
    minimize,
    to_tensor,
    transfer_optimizer_state,
)
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch
from everlearn.streams.stream import Images

MAX_REPLAY = 65_536
"""Maximum number of images replayed in one step."""
MAX_LEARNING_RATE = 1e6


class Classifier(Learner):
    """A backbone, a linear head that grows with the labels, and an optimizer.

    A method overrides `loss` (what to minimize on a batch), `optimizer_step` (how) or `learn` (what to do
    with a batch).

    Example:
        >>> class LabelSmoothing(Classifier):
        ...     "Cross-entropy with smoothed labels."
        ...     def loss(self, images, targets):
        ...         return functional.cross_entropy(self.logits(images), targets, label_smoothing=0.1)
        >>> learner = LabelSmoothing.tiny()
        >>> losses = learner.learn(Batch(np.zeros((4, 16, 16), np.uint8), np.array([3, 5, 3, 5])))
        >>> learner.net.head.labels, learner.n_steps
        ([3, 5], 1)
    """

    backbone: str = setting(
        '"compact", "small", "pooled", "resnet18", "mobile" or "mlp"; or with ImageNet weights '
        '"efficientnet-lite0", "mobilenet-v1" or "mobilenet-v1-0.25"',
        default="compact",
    )
    norm: Literal["own", "batch", "renorm", "group"] = setting(
        'normalization in the backbone: "batch", "renorm" (batch renormalization), "group", or the "own" of '
        "the backbone",
        default="own", late=True,
    )  # fmt: skip
    average: float = setting(
        "decay of the moving average of the weights that predictions are made with; 0 predicts with the "
        "weights as they are",
        default=0.99, ge=0, lt=1, late=True, before=0.0,
    )  # fmt: skip
    weights: str = setting(
        "initial weights of the backbone: a .safetensors file, such as `everlearn pretrain` writes, or "
        '"imagenet"; random if empty. Batch normalization then keeps the statistics of these weights; with '
        'norm "renorm" it becomes batch renormalization that starts at them',
        default="",
    )
    optimizer: Literal["adam", "sgd"] = setting("optimizer of all weights", default="adam")
    learning_rate: float = setting("learning rate of the optimizer", default=2e-3, gt=0, lt=MAX_LEARNING_RATE)
    momentum: float = setting('momentum of "sgd"', default=0.0, ge=0, le=0.9999)

    parts: ClassVar[Names] = ("net", "optim", "averaged")
    counters: ClassVar[Names] = ("n_steps",)
    supports_data_parallel = True

    def setup(self) -> None:
        self.n_steps = 0
        self.reset()
        if self.weights:
            self.supervision += ", a pretrained network"
        self.forward_flops = flops_per_image(self.net.backbone, self.image_shape)

    def reset(self) -> None:
        """Reset to initial weights, no labels and a new optimizer."""
        self.net = self.make_net()
        self.optim = self.make_optimizer()
        self.averaged = AveragedNet(self.net)

    @property
    def used_parts(self) -> Names:
        return tuple(name for name in self.parts if name != "averaged" or self.average)

    def make_net(self) -> IncrementalNet:
        """A network with the initial weights."""
        if self.weights and self.norm not in ("own", "renorm"):
            raise BadInput(
                f"norm is {self.norm}, but pretrained weights have their own; leave out one of them, or set "
                "norm to renorm"
            )
        norm = "own" if self.weights else self.norm
        backbone = make_backbone(self.backbone, self.image_shape, self.seed, norm)
        if self.weights:
            from everlearn.networks.weights import load_backbone  # most runs need neither it nor its imports

            load_backbone(backbone, self.weights)
            freeze_batch_norm(backbone)
            if self.norm == "renorm":
                keep_statistics(backbone)
        return IncrementalNet(data_parallel(backbone)).to(self.device)

    def learn(self, batch: Batch) -> Losses:
        return {"loss": self.step(batch)}

    def step(self, batch: Batch) -> float | Tensor:
        """One optimizer step on a batch; returns the loss."""
        self.net.train()
        loss = self.loss(*self.tensors(batch))
        self.optimizer_step(loss)
        self.end_step()
        return loss_value(loss)

    def step_on_sum(self, losses: Mapping[str, Tensor]) -> Losses:
        """One optimizer step on the sum of losses; returns the sum and each loss for the log."""
        loss = torch.stack([*losses.values()]).sum()
        self.optimizer_step(loss)
        self.end_step()
        return loss_values({"loss": loss, **losses})

    def end_step(self) -> None:
        """Count an optimizer step, and add the new weights to their average."""
        self.n_steps += 1
        if self.average:
            self.averaged.average(1 - self.average)

    @property
    def inference_net(self) -> IncrementalNet:
        """The network that predictions are made with: the averaged one, or `net`."""
        return self.averaged.net or self.net

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        """The loss that a step minimizes: cross-entropy over all labels seen so far."""
        return functional.cross_entropy(self.logits(images), targets)

    def optimizer_step(self, loss: Tensor) -> None:
        """Backpropagate the loss and update the weights."""
        minimize(loss, self.optim)

    def tensors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The images of a batch, and their targets: the class indices of the labels."""
        self.add_labels(batch.labels)
        return self.tensor(batch.images), self.net.head.class_indices(batch.labels)

    def tensor(self, images: Images) -> Tensor:
        """Images as a float tensor (n, C, H, W) on the network's device."""
        return to_tensor(images, self.net.head.weight.device)

    def logits(self, images: Tensor) -> Tensor:
        """The logits (n, n_labels) of training images; FLOPs are counted."""
        self.count_flops(len(images), self.forward_flops)
        return self.net(images)

    def inference_logits(self, images: Tensor) -> Tensor:
        """The logits (n, n_labels) that predictions are made from."""
        return self.inference_net(images)

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        labels = np.array(self.net.head.labels, np.int64)
        if not len(labels):
            return np.full(len(images), -1, np.int64)
        self.net.eval()
        indices = map_batches(lambda part: self.inference_logits(self.tensor(part)).argmax(1), images)
        return np.asarray(labels[indices.numpy()])

    @torch.no_grad()
    def features(self, images: Images) -> FloatArray:
        """The backbone's features of images, (n, n_features)."""
        self.net.eval()
        features = map_batches(lambda part: self.inference_net.backbone(self.tensor(part)), images)
        return np.asarray(features.double().numpy())

    def add_labels(self, labels: IntArray) -> None:
        """Add new labels to the head; the optimizer keeps its state."""
        if self.net.head.add_labels(labels):
            self.optim = transfer_optimizer_state(self.optim, self.make_optimizer())

    def parameters(self) -> list[nn.Parameter]:
        """The weights that the optimizer updates."""
        return list(self.net.parameters())

    def make_optimizer(self) -> torch.optim.Optimizer:
        """A new optimizer of the weights."""
        return build_optimizer(self.optimizer, self.parameters(), self.learning_rate, self.momentum)


def build_optimizer(
    name: str, parameters: list[nn.Parameter] | list[dict[str, Any]], learning_rate: float, momentum: float
) -> torch.optim.Optimizer:
    """An optimizer of parameters or parameter groups.

    Example:
        >>> type(build_optimizer("sgd", [nn.Parameter(torch.ones(1))], 0.1, momentum=0.9))
        <class 'torch.optim.sgd.SGD'>
    """
    if momentum and name == "adam":
        raise BadInput(f"momentum is {momentum}, but adam has its own; set optimizer to sgd or leave it")
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=momentum)
    return torch.optim.Adam(parameters, lr=learning_rate, foreach=True)


def without_factors(batch: Batch) -> Batch:
    """Images and labels only: a replay buffer must not store ground-truth factors."""
    return Batch(batch.images, batch.labels)


def concat(batch: Batch, replayed: Batch) -> Batch:
    """New and replayed images in one batch."""
    if not len(replayed):
        return batch
    return Batch.concatenate([without_factors(batch), without_factors(replayed)])
