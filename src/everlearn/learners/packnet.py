"""Iterative pruning: each task owns some weights of one network (PackNet)."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from everlearn.learners.base import setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier
from everlearn.learners.stateful import Names
from everlearn.networks import map_batches
from everlearn.networks.devices import to_device
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

FREE = 0
"""Owner of weights that no task has kept yet; k + 1 is the owner of the weights of task k, from 0."""


class PackNet(Classifier):
    """Iterative pruning: each task owns some weights of one network (PackNet).

    A task is trained with all weights, but changes only those that no earlier task owns. When it ends, it
    keeps the largest share of its free weights in each layer; the others are set to zero and left to later
    tasks, and the kept ones are trained again. A task is predicted with its own weights and those of earlier
    tasks, so that nothing is forgotten. Biases and batch normalization belong to the first task. Each task
    has logits of its own, which are compared with each other only; a recurring label gets new logits.

    It is made for task-incremental streams. Without task ids the network of each task predicts its own
    labels, and the label with the largest probability wins, which fails since networks are overconfident on
    images of other tasks. Each task has fewer free weights, until none are left to train.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = PackNet.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     learner.begin(task.for_learner())
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> [round(float((learner.owners[0] == number).float().mean()), 2) for number in (1, 2, FREE)]
        [0.25, 0.19, 0.56]

    Reference: Mallya and Lazebnik 2018, "PackNet: adding multiple tasks to a single network by iterative
    pruning", arXiv:1711.05769.
    """

    average: float = setting("0: predictions are made with masked weights", default=0.0, ge=0, le=0)
    kept: float = setting("share of a layer's free weights that a task keeps", default=0.25, gt=0, le=1)
    passes: int = setting("epochs over the task after pruning", default=1, ge=0, le=10_000)
    pass_size: int = setting("images per step after pruning", default=64, ge=1, le=MAX_REPLAY)

    parts: ClassVar[Names] = ("owners",)
    counters: ClassVar[Names] = ("n_ended", "rows")
    supports_data_parallel = False

    def setup(self) -> None:
        super().setup()
        self.n_ended = 0
        self.rows: list[list[int]] = []  # task and label of each logit
        self.owners = [
            torch.full(weight.shape, FREE, dtype=torch.int16, device=weight.device)
            for weight in self.pruned_weights().values()
        ]

    def pruned_weights(self) -> dict[str, nn.Parameter]:
        """Convolutions and matrices of the backbone by name."""
        return {name: w for name, w in self.net.backbone.named_parameters() if w.ndim > 1}

    def begin(self, task: TaskView) -> None:
        self.optim = self.make_optimizer()  # moments of earlier tasks would change their weights

    def tensors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        index = {label: i for i, (task, label) in enumerate(self.rows) if task == self.n_ended}
        for label in batch.labels.tolist():
            if label not in index:
                index[label] = len(self.rows)
                self.rows.append([self.n_ended, label])
        self.add_labels(np.arange(len(self.rows)))
        rows = np.array([index[label] for label in batch.labels.tolist()], np.int64)
        return self.tensor(batch.images), self.net.head.class_indices(rows)

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        if self.n_ended:
            for layer in self.net.backbone.modules():
                layer.train(layer.training and "running_mean" not in dict(layer.named_buffers(recurse=False)))
        logits = self.logits(images)
        return functional.cross_entropy(logits + self.task_mask(self.n_ended, logits), targets)

    def task_mask(self, task: int, like: Tensor) -> Tensor:
        """Zeros for the logits of a task, -inf for others, (n_logits,)."""
        mask = [0.0 if own == task else -math.inf for own, _ in self.rows]
        return to_device(torch.tensor(mask, dtype=like.dtype), like.device)

    def optimizer_step(self, loss: Tensor, *, owner: int = FREE) -> None:
        """Update the weights of an owner, biases and normalization in the first task, and the head."""
        self.optim.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        owners = dict(zip(self.pruned_weights(), self.owners, strict=True))
        for name, weight in self.net.backbone.named_parameters():
            if weight.grad is not None:
                weight.grad *= owners[name] == owner if name in owners else float(self.n_ended == 0)
        self.optim.step()

    def end(self, task: TaskView) -> None:
        self.prune()
        for epoch in range(self.passes):
            for batch in task.train.shuffled(self.seed, task.index, epoch).batches(self.pass_size):
                self.net.train()
                self.optimizer_step(self.loss(*self.tensors(batch)), owner=self.n_ended + 1)
        self.n_ended += 1

    @torch.no_grad()
    def prune(self) -> None:
        """Keep the largest free weights of each layer, and set the others to zero."""
        for weight, owner in zip(self.pruned_weights().values(), self.owners, strict=True):
            free = torch.nonzero(owner.flatten() == FREE)[:, 0]
            kept = weight.flatten()[free].abs().topk(math.ceil(self.kept * len(free))).indices
            owner.view(-1)[free[kept]] = self.n_ended + 1
            weight.mul_(owner != FREE)
        self.optim = self.make_optimizer()

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        if not self.rows:
            return np.full(len(images), -1, np.int64)
        self.net.eval()
        known = sorted({task for task, _ in self.rows})
        scores = np.stack([self.task_probabilities(images, task) for task in known])
        if tasks is not None:  # for a task without labels, those of all tasks compete
            is_other = np.isin(tasks, known)[None] & (np.array(known)[:, None] != tasks)
            scores[is_other] = -1
        return np.array(self.rows, np.int64)[scores.max(0).argmax(1), 1]

    def task_probabilities(self, images: Images, task: int) -> FloatArray:
        """Probabilities (n, n_logits) of the labels of a task under its network; 0 for others."""
        weights = {f"backbone.{name}": weight.detach() for name, weight in self.pruned_weights().items()}
        if task < self.n_ended:
            for name, owner in zip(weights, self.owners, strict=True):
                weights[name] = weights[name] * ((owner > FREE) & (owner <= task + 1))

        def probabilities(part: Images) -> Tensor:
            logits: Tensor = functional_call(self.net, weights, (self.tensor(part),))
            return functional.softmax(logits + self.task_mask(task, logits), 1)

        return np.asarray(map_batches(probabilities, images).double().numpy())
