"""Learners whose class weights are trained per task and then consolidated: CWR* and AR1."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.base import setting
from everlearn.learners.classifier import MAX_LEARNING_RATE, Classifier, build_optimizer
from everlearn.learners.cwr_head import CWRHead
from everlearn.learners.stateful import Names
from everlearn.learners.weight_penalty import PathIntegralPenalty
from everlearn.networks import flops_per_image, map_batches, split_layers
from everlearn.networks.activation_cache import CachedLayers
from everlearn.networks.normalization import set_renorm_momentum
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import TaskView
from everlearn.streams.stream import Images

RENORM_MOMENTUM = (0.1, 5e-5)
"""Momentum of the running statistics of batch renormalization, in the first task and after it."""


class CWRLearner(Classifier):
    """A classifier with consolidated class weights and a backbone whose lower layers can be frozen.

    The whole network is trained on the first task, with `learning_rate`. After it (or, if they are
    `always_frozen`, from the start) the first `n_frozen_layers` layers are frozen; the others have the
    learning rate `backbone_lr` and the head has `head_lr`. Each task has a new optimizer. The head has no
    bias. Within a task, classes of earlier tasks are predicted with their consolidated weights.
    """

    backbone: str = setting(
        "best without batch normalization, since batches have few classes or mix new with replayed ones: "
        '"small-renorm", "pooled-renorm", "pooled-relu-renorm" (no normalization of the '
        'features), "resnet18-renorm" or "mobile"; with ImageNet weights "efficientnet-lite0", '
        '"mobilenet-v1" or "mobilenet-v1-0.25"; or any other',
        default="small-renorm",
    )
    average: float = setting("0: predictions are made with consolidated weights", default=0.0)
    always_frozen: bool = setting(
        "freeze the lower layers in the first task too, as fits pretrained weights", default=False
    )
    cached: bool = setting(
        "compute activations of the frozen layers once per image and keep them on disk (EVERLEARN_CACHE), "
        "rounded to float16; needs always_frozen",
        default=False,
    )
    optimizer: Literal["adam", "sgd"] = setting(default="sgd")
    learning_rate: float = setting("learning rate in the first task", default=0.01)
    momentum: float = setting(default=0.9)
    head_lr: float = setting(
        "learning rate of the head after the first task", default=0.01, ge=0, le=MAX_LEARNING_RATE
    )
    weight_decay: float = setting("L2 regularization of the optimizer", default=1e-4, ge=0, le=1)
    lr_decay: float = setting(
        "decay of the later learning rates (the generator's too): those of task i, from 0, are multiplied by "
        "1 - lr_decay * sigmoid(1.5 i - 8)",
        default=0.0, ge=0, le=1,
    )  # fmt: skip
    centering: Literal["class", "task"] = setting(
        'mean that is subtracted from trained class weights: of each row ("class"), or of all rows of the '
        'task ("task")',
        default="class",
    )

    parts: ClassVar[Names] = ("cwr_head",)
    counters: ClassVar[Names] = ("n_ended",)
    supports_data_parallel = False  # the backbone is used layer by layer
    backbone_lr = 0.0
    """Learning rate of the unfrozen layers of the backbone after the first task."""

    def setup(self) -> None:
        self.n_ended = 0
        if self.cached and not self.always_frozen:
            raise BadInput("cached is set, but the first task trains all layers; set always_frozen too")
        if self.average:
            raise BadInput(f"average is {self.average}, but class weights are consolidated here; leave it 0")
        super().setup()
        self.cwr_head = CWRHead(self.net.head.weight.detach(), centering=self.centering)
        self.upper_flops = self.forward_flops - self.lower_flops

    def reset(self) -> None:
        self.net = self.make_net()
        self.split_backbone()
        self.optim = self.make_optimizer()

    def split_backbone(self) -> None:
        """Split the backbone into the layers that are frozen and those above them."""
        self.lower, self.upper = split_layers(self.net.backbone, self.n_frozen_layers)
        self.lower_flops = flops_per_image(self.lower, self.image_shape)
        if self.cached:
            self.cache, self.lower = CachedLayers(self.lower, self.image_shape), nn.Sequential()

    @property
    def n_frozen_layers(self) -> int | str:
        """The number of layers of the backbone that are frozen, or the name of the last of them."""
        return 0

    @property
    def is_frozen(self) -> bool:
        """Whether the lower layers are not trained any more."""
        return self.always_frozen or self.n_ended > 0

    def begin(self, task: TaskView) -> None:
        self.begin_training(task)
        self.start_head(self.class_indices(task.labels))

    def end(self, task: TaskView) -> None:
        self.consolidate(Counter(self.class_indices(task.train.labels)))
        self.end_training()

    def begin_training(self, task: TaskView) -> None:
        """Add the labels of a task to the head; make its optimizer."""
        self.add_labels(np.array(task.labels, np.int64))
        self.optim = self.make_optimizer()
        self.set_renorm_momentum()

    def end_training(self) -> None:
        """Finish a task; after the first one the lower layers are frozen."""
        self.n_ended += 1
        self.optim = self.make_optimizer()

    @torch.no_grad()
    def start_head(self, class_indices: list[int]) -> None:
        """Start the head with the consolidated rows of these classes, and zeros for others."""
        self.net.head.weight.zero_()
        self.net.head.weight[class_indices] = self.cwr_head.class_weights[class_indices]

    @torch.no_grad()
    def consolidate(self, counts: Mapping[int, int]) -> None:
        """Consolidate the trained rows of classes with their numbers of images."""
        self.cwr_head.consolidate(self.net.head.weight, counts)
        self.net.head.weight.copy_(self.cwr_head.class_weights)

    def tensor(self, images: Images) -> Tensor:
        """Images as a tensor, or the activations of the frozen layers if these are cached."""
        if not self.cached:
            return super().tensor(images)
        return self.cache(images).to(self.net.head.weight.device)

    @torch.no_grad()
    def features(self, images: Images) -> FloatArray:
        self.net.eval()
        features = map_batches(lambda part: self.upper(self.lower_activations(self.tensor(part))), images)
        return np.asarray(features.double().numpy())

    def logits(self, images: Tensor) -> Tensor:
        self.count_layer_flops(n_lower=len(images), n_upper=len(images))
        return self.class_logits(self.upper(self.lower_activations(images)), self.net.head.weight)

    def inference_logits(self, images: Tensor) -> Tensor:
        return self.class_logits(self.upper(self.lower_activations(images)), self.inference_weights())

    def inference_weights(self) -> Tensor:
        """The class weights that predictions are made with, (capacity, n_features)."""
        return self.cwr_head.inference_weights(self.net.head.weight)

    def class_logits(self, features: Tensor, class_weights: Tensor) -> Tensor:
        """(n, n_features) -> logits (n, n_labels)."""
        return functional.linear(features, class_weights[: len(self.net.head.labels)])

    def lower_activations(self, images: Tensor) -> Tensor:
        """The output of the lower layers."""
        lower = self.lower.eval() if self.is_frozen else self.lower
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.is_frozen):
            activations: Tensor = lower(images)
        return activations

    def count_layer_flops(self, *, n_lower: int, n_upper: int) -> None:
        """Count a training step by the numbers of inputs of the lower and the upper layers."""
        self.count_flops(n_lower, self.lower_flops, backward=not self.is_frozen)
        self.count_flops(n_upper, self.upper_flops)

    def class_indices(self, labels: Iterable[int]) -> list[int]:
        """The indices of labels in the head."""
        return self.net.head.class_indices(labels).tolist()

    def add_labels(self, labels: IntArray) -> None:
        super().add_labels(labels)
        self.cwr_head.resize(self.net.head.weight.shape)

    def on_load(self) -> None:
        self.set_renorm_momentum()
        if self.cached:
            self.split_backbone()  # the cache is that of the loaded weights

    def set_renorm_momentum(self) -> None:
        """Set the momentum of batch renormalization, which is very small after the first task."""
        first, later = RENORM_MOMENTUM
        set_renorm_momentum(self.net.backbone, later if self.n_ended else first)

    def make_optimizer(self) -> torch.optim.Optimizer:
        trained: nn.Module = self.upper if self.is_frozen else self.net.backbone
        backbone_lr = head_lr = self.learning_rate
        if self.n_ended:
            factor = lr_multiplier(self.lr_decay, self.n_ended)
            backbone_lr, head_lr = factor * self.backbone_lr, factor * self.head_lr
        groups: list[dict[str, Any]] = [
            {"params": list(trained.parameters()), "lr": backbone_lr, "weight_decay": self.weight_decay},
            {"params": [self.net.head.weight], "lr": head_lr, "weight_decay": self.head_weight_decay},
        ]
        groups = [group for group in groups if group["params"]]
        return build_optimizer(self.optimizer, groups, self.learning_rate, self.momentum)

    @property
    def head_weight_decay(self) -> float:
        """Weight decay of the head."""
        return self.weight_decay


class CWRStar(CWRLearner):
    """CopyWeights with reinit (CWR*): consolidated class weights.

    The backbone is trained on the first task only. Each task trains class weights of its own, for its own
    classes; afterwards they are centered and consolidated, weighted by the numbers of training images, so
    that no class has larger logits because it came last. Nothing else is stored. Its accuracy depends on the
    features of the first task, or of the initial weights.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = CWRStar.tiny()
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> learner.begin(task)
        >>> losses = learner.learn(task.train[:16])
        >>> learner.end(task)
        >>> learner.cwr_head.n_past[:4]  # images behind the weights of each class
        tensor([14, 14, 14,  0])

    Reference: Lomonaco et al. 2020, arXiv:1907.03799.
    """

    @property
    def n_frozen_layers(self) -> int | str:
        return len(self.net.backbone.layers())


class AR1(CWRLearner):
    """AR1: CWR* head, backbone under synaptic intelligence.

    The head is trained and consolidated as in CWR*; the backbone, above its `frozen_layers`, is trained in
    every task under the quadratic penalty of synaptic intelligence. With strength 0 only a small
    `backbone_lr` protects it, as in `gnr`. The head has no penalty, since it is consolidated.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = AR1.tiny()
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> learner.begin(task)
        >>> for batch in task.train.batches(16):
        ...     losses = learner.learn(batch)
        >>> learner.end(task)
        >>> any(bool(each.any()) for each in learner.penalty.importance)
        True

    Reference: Maltoni and Lomonaco 2019, "Continuous learning in single-incremental-task scenarios",
    arXiv:1806.08568.
    """

    strength: float = setting(
        "weight of the penalty: half of lambda times the paper's multiplier of importance",
        default=0.4, ge=0, le=1e12,
    )  # fmt: skip
    damping: float = setting(
        "added to squared displacements, which bounds the importance of weights that hardly move",
        default=1e-7, ge=1e-12, le=1e6,
    )  # fmt: skip
    max_importance: float = setting(
        "largest importance of a weight: the paper's clip value over its multiplier",
        default=1e3, ge=0, le=1e12,
    )  # fmt: skip
    backbone_lr: float = setting(
        "learning rate of the backbone after the first task", default=1e-3, ge=0, le=MAX_LEARNING_RATE
    )
    frozen_layers: int | str = setting(
        "backbone layers that are frozen after the first task: their number, or the name of the last",
        default=0,
    )

    parts: ClassVar[Names] = ("penalty",)

    def setup(self) -> None:
        super().setup()
        self.penalty = PathIntegralPenalty(
            self.backbone_parameters(), self.strength, self.damping, self.max_importance
        )

    def backbone_parameters(self) -> list[nn.Parameter]:
        """The parameters under the penalty: all that are trained."""
        trained = {id(each) for each in self.upper.parameters()}
        return [each for each in self.net.backbone.parameters() if id(each) in trained]

    @property
    def n_frozen_layers(self) -> int | str:
        return self.frozen_layers

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        return super().loss(images, targets) + self.strength * self.penalty(self.backbone_parameters())

    def optimizer_step(self, loss: Tensor) -> None:
        self.penalty.optimizer_step(loss, self.backbone_parameters(), self.optim)

    def end(self, task: TaskView) -> None:
        self.penalty.consolidate(self.backbone_parameters())
        super().end(task)


def lr_multiplier(lr_decay: float, task: int) -> float:
    """The factor of the learning rate in task i, from 0: 1 - lr_decay * sigmoid(1.5 i - 8).

    Example:
        >>> [round(lr_multiplier(0.9, task), 2) for task in (0, 5, 6, 20)]
        [1.0, 0.66, 0.34, 0.1]
    """
    return 1 - lr_decay / (1 + math.exp(8 - 1.5 * task))
