"""The common part of learners whose head is learned anew in every task and then merged: CWR*, AR1 and kin."""

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, State
from everlearn.learners.old_base.classifier import Classifier, Shared
from everlearn.learners.old_base.consolidation import Consolidation
from everlearn.learners.old_base.descent import left_by
from everlearn.networks import BACKWARD, cut, flops_per_image
from everlearn.networks.renorm import set_pace
from everlearn.networks.weights import start_from
from everlearn.rng import IntArray
from everlearn.streams import TaskView

MAX_RATE = 1e6
FIRST_PACE, LATER_PACE = 0.1, 5e-5
"""How much a batch moves the averages of renormalisation, in the first task and after it."""


class Consolidating(Shared, total=False):
    """The settings of `Consolidated`, which methods pass on."""

    weights: str
    head_rate: float
    weight_decay: float
    slowing: float
    centring: str


class Consolidated(Classifier):
    """A classifier that learns each task with rows of its own, and answers with those merged over all tasks.

    The whole network learns the first task, at `learning_rate`. After it the first `n_frozen` layers stay as
    they are; the others go on at `body_rate` and the head at `head_rate`. The optimiser starts afresh with
    each task. The head has no bias, so that merging its rows is merging all of it. Inside a task, classes of
    earlier tasks answer as they did before it.

    Args:
        weights: a .safetensors file of the backbone's weights to start from, such as `everlearn pretrain`
            writes; as they are initialised if not said.
        backbone: the network; best one that does not normalise by batches, which have few classes or mix new
            and old patterns: "small-renorm", "pooled-renorm", "pooled-relu-renorm" (whose features are not
            normalised at last), "resnet18-renorm", "mobile", or any other.
        optimizer: "sgd" or "adam".
        learning_rate: the step size in the first task.
        momentum: of "sgd"; Adam has its own.
        head_rate: the step size of the head after the first task.
        weight_decay: how much weights are drawn to zero.
        slowing: share of the later step sizes, a generator's among them, that is lost as tasks go by: task i,
            from 0, is learned with 1 - slowing * sigmoid(1.5 i - 8) of them.
        centring: what is taken off a learned row before it is merged: its own mean ("class"), or that of all
            rows learned in the task together ("task").
    """

    supports_data_parallel = False  # the body is looked into, layer by layer
    n_ended: int = 0
    body_rate: float = 0.0

    def __init__(
        self,
        *,
        weights: str = "",
        backbone: str = "small-renorm",
        optimizer: str = "sgd",
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        head_rate: float = 0.01,
        weight_decay: float = 1e-4,
        slowing: float = 0.0,
        centring: str = "class",
        **others: Any,
    ) -> None:
        check_range("head_rate", head_rate, 0, MAX_RATE)
        check_range("weight_decay", weight_decay, 0, 1)
        check_range("slowing", slowing, 0, 1)
        self.start, self.head_rate, self.weight_decay, self.slowing = (
            weights,
            head_rate,
            weight_decay,
            slowing,
        )
        super().__init__(
            backbone=backbone, optimizer=optimizer, learning_rate=learning_rate, momentum=momentum, **others
        )
        if weights:
            self.supervision += ", a pretrained network"
        self.consolidation = Consolidation(self.head.weight.detach(), centring)
        self._flops_below = flops_per_image(self.halves[0], self.image_shape)
        self._flops_above = flops_per_image(self.body, self.image_shape) - self._flops_below

    @property
    def n_frozen(self) -> int:
        """How many layers of the body stay as they are after the first task."""
        return 0

    @property
    def head_decay(self) -> float:
        """How much the head is drawn to zero."""
        return self.weight_decay

    @cached_property
    def halves(self) -> tuple[nn.Sequential, nn.Sequential]:
        """The body in two: what is frozen after the first task, and what is not."""
        return cut(self.body, self.n_frozen)

    def restart(self) -> None:
        """Begin anew, from the weights that were given."""
        super().restart()
        if self.start:
            start_from(self.body, self.start)

    def begin(self, task: TaskView) -> None:
        """Set the rows of the task's classes in place, and the step sizes."""
        self.admit(np.array(task.labels, np.int64))
        self.start_head(self._columns(task.labels))
        self.optimiser = self._fresh_optimiser()
        self._set_pace()

    def start_head(self, columns: list[int]) -> None:
        """Learn with the rows of these classes, and zeros for all others."""
        with torch.no_grad():
            self.head.weight.copy_(self.consolidation.starting(columns))

    def end(self, task: TaskView) -> None:
        """Merge what was learned into what answers."""
        super().end(task)
        counts = Counter(self._columns(task.train.labels.tolist()))
        self.consolidate(counts)
        self.n_ended += 1
        self.optimiser = self._fresh_optimiser()  # of fewer weights than before

    @torch.no_grad()
    def consolidate(self, counts: dict[int, int]) -> None:
        """Merge the rows of some columns, learned from so many images each; all rows answer."""
        self.consolidation.merge(self.head.weight, counts)
        self.head.weight.copy_(self.consolidation.rows)

    def outputs(self, images: Tensor) -> Tensor:
        """What the network says to images it learns from, (n, n_labels); the work is counted."""
        self.count(n_below=len(images), n_above=len(images))
        return self.head_outputs(self.halves[1](self.patterns(images)), self.head.weight)

    def scores(self, images: Tensor) -> Tensor:
        """What the merged rows say to images."""
        return self.head_outputs(self.body(images), self.consolidation.answering(self.head.weight))

    def patterns(self, images: Tensor) -> Tensor:
        """What the lower layers make of images; after the first task they no longer learn from it."""
        below = self.halves[0]
        if not self.n_ended:
            made: Tensor = below(images)
            return made
        with torch.no_grad():
            frozen: Tensor = below.eval()(images)
        return frozen

    def head_outputs(self, features: Tensor, rows: Tensor) -> Tensor:
        """(n, n_features) -> (n, n_labels)."""
        return functional.linear(features, rows[: len(self.head.labels)])

    def count(self, *, n_below: int, n_above: int) -> None:
        """Count the work of a step in which so many images or patterns came by."""
        back_below = 0 if self.n_ended else BACKWARD
        below, above = (1 + back_below) * self._flops_below, (1 + BACKWARD) * self._flops_above
        self.flops += n_below * below + n_above * above

    def weights(self) -> list[nn.Parameter]:
        """All that the optimiser moves: what of the body still learns, and the head's rows."""
        return [*self._moving(), self.head.weight]

    def admit(self, labels: IntArray) -> None:
        """Make room for labels not seen before."""
        super().admit(labels)
        self.consolidation.grow(self.head.weight.shape)

    def state(self) -> State:
        """The network's state, the merged rows, how many tasks ended."""
        return {**super().state(), "consolidation": self.consolidation.state(), "n_ended": self.n_ended}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self.n_ended = state["n_ended"]  # which weights there are to optimise depends on it
        super().load(state)
        self.consolidation.load(state["consolidation"])
        self._set_pace()

    def footprint(self) -> Footprint:
        """The bytes of the network, the merged rows, and what else is held."""
        own = super().footprint()
        return Footprint(own.weights + self.consolidation.nbytes, own.memory)

    def _moving(self) -> list[nn.Parameter]:
        return list(self.halves[1].parameters() if self.n_ended else self.body.parameters())

    def _columns(self, labels: Any) -> list[int]:
        columns: list[int] = self.head.class_indices(labels).tolist()
        return columns

    def _set_pace(self) -> None:
        set_pace(self.body, LATER_PACE if self.n_ended else FIRST_PACE)

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        body, head = self._rates()
        groups: list[dict[str, Any]] = [
            {"params": self._moving(), "lr": body, "weight_decay": self.weight_decay},
            {"params": [self.head.weight], "lr": head, "weight_decay": self.head_decay},
        ]
        return self.descent.over(group for group in groups if group["params"])

    def _rates(self) -> tuple[float, float]:
        """The step sizes of body and head."""
        if not self.n_ended:
            return self.descent.learning_rate, self.descent.learning_rate
        left = left_by(self.slowing, self.n_ended)
        return left * self.body_rate, left * self.head_rate
