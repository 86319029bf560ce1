"""The common part of learners that replay activations of a layer instead of images."""

from abc import abstractmethod
from collections import Counter
from typing import Unpack

import torch
from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range, unknown
from everlearn.learners.base import Footprint, Losses, State
from everlearn.learners.classifier import MAX_REPLAY
from everlearn.learners.old_base.classifier import PREDICT_PIECE
from everlearn.learners.old_base.consolidated import MAX_RATE, Consolidated, Consolidating
from everlearn.learners.old_base.patterns import Patterns, PatternSource
from everlearn.networks import to_tensor
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

ROLES = ("positive", "negative")
FORMS = ("ar1", "standalone")
ASKED = 256
"""Old patterns that the network is asked to name before it learns a task."""


class Replaying(Consolidating, total=False):
    """The settings of `LatentReplay`, which methods pass on."""

    role: str
    form: str
    replay_layer: int
    memory_size: int
    replay_size: int
    body_rate: float


class LatentReplay(Consolidated):
    """A classifier that learns new patterns beside old ones, which enter it at one of its layers.

    The layers below that one are frozen after the first task, so that patterns do not age.

    Replay is positive where old patterns are learned like new ones. It is negative where they may only say
    what the classes of the task are not, and leave the rows of their own classes alone.

    In the form "ar1" rows are learned for each task and merged, and negative replay is not to merge those of
    classes that were only replayed. In the form "standalone" there is one head; negative replay is not to let
    old patterns move the outputs of classes that are not in the task. The outputs stay in the softmax, so
    the loss is the same. The head does not decay then, since rows that nobody learns would fade.

    Args:
        role: "negative" or "positive".
        form: "ar1", or "standalone" for replay on top of plain fine-tuning.
        replay_layer: layers of the backbone below the patterns.
        memory_size: old patterns kept, or made for each task.
        replay_size: old patterns learned with each batch.
        body_rate: the step size of the upper layers after the first task.
    """

    def __init__(
        self,
        *,
        role: str = "negative",
        form: str = "ar1",
        replay_layer: int = 4,
        memory_size: int = 300,
        replay_size: int = 64,
        body_rate: float = 1e-3,
        **shared: Unpack[Consolidating],
    ) -> None:
        if role not in ROLES:
            raise unknown("role", role, ROLES)
        if form not in FORMS:
            raise unknown("form", form, FORMS)
        check_range("replay_layer", replay_layer, 1, 1000)
        check_range("replay_size", replay_size, 1, MAX_REPLAY)
        check_range("body_rate", body_rate, 0, MAX_RATE)
        self.is_negative, self.merges = role == "negative", form == "ar1"
        self.replay_layer, self.memory_size, self.replay_size = replay_layer, memory_size, replay_size
        self.body_rate = body_rate
        super().__init__(**shared)
        self.task_columns: list[int] = []
        self.past = self.make_source()
        self.named = 0.0

    @abstractmethod
    def make_source(self) -> PatternSource | None:
        """Where old patterns come from; None replays nothing."""

    @property
    def n_frozen(self) -> int:
        """The layers below the patterns."""
        return self.replay_layer

    @property
    def head_decay(self) -> float:
        """None in the standalone form."""
        return self.weight_decay if self.merges else 0.0

    def begin(self, task: TaskView) -> None:
        """Make old patterns ready; then as the others do."""
        if self.past:
            self.past.refill(range(len(self.head.labels)) if self.n_ended else [], task.index)
            self.named = self._share_named()
        super().begin(task)
        self.task_columns = self._columns(task.labels)

    def start_head(self, columns: list[int]) -> None:
        """Learn with the rows of the task's classes and of those replayed; standalone, with all there are."""
        if self.merges:
            super().start_head(sorted({*columns, *self._replayed()}))

    def learn(self, batch: Batch) -> Losses:
        """One step; says also what share of the old patterns were named rightly when the task began."""
        return super().learn(batch) | ({"named": self.named} if self._replayed() else {})

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """Cross-entropy over new and old patterns together."""
        old = self._sample(self.replay_size)
        new = self.patterns(images)
        self.count(n_below=len(new), n_above=len(new) + len(old.columns))
        together = torch.cat([new, old.values]) if len(old.columns) else new
        outputs = self.head_outputs(self.halves[1](together), self.head.weight)
        if self.is_negative and not self.merges:
            outputs = only_moving(outputs, self.task_columns, since=len(new))
        return functional.cross_entropy(outputs, torch.cat([columns, old.columns]))

    def end(self, task: TaskView) -> None:
        """Merge what was learned; then look at the task's patterns once more, for those to come."""
        super().end(task)
        if self.past:
            columns = self.head.class_indices(task.train.labels)
            self.flops += len(columns) * self._flops_below
            self.flops += self.past.study(Patterns(self.look(task.train.images), columns), task.index)

    def consolidate(self, counts: dict[int, int]) -> None:
        """Merge the rows of the task's classes; of those replayed as well, if replay is positive."""
        if self.merges:
            super().consolidate(counts if self.is_negative else Counter(counts) + Counter(self._replayed()))

    def features_of(self, patterns: Tensor) -> Tensor:
        """What the upper layers make of patterns when asked."""
        features: Tensor = self.halves[1].eval()(patterns)
        return features

    def known_outputs(self, features: Tensor) -> Tensor:
        """What the merged rows say to features."""
        return self.head_outputs(features, self.consolidation.answering(self.head.weight))

    @torch.no_grad()
    def look(self, images: Images) -> Tensor:
        """The patterns of images."""
        below = self.halves[0].eval()
        pieces = (images[i : i + PREDICT_PIECE] for i in range(0, len(images), PREDICT_PIECE))
        return torch.cat([below(to_tensor(piece, self.head.weight.device)) for piece in pieces])

    def state(self) -> State:
        """The network's state, the classes of the task, and what replay depends on."""
        past = self.past and self.past.state()
        own = {"task_columns": list(self.task_columns), "past": past, "named": self.named}
        return {**super().state(), **own}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.task_columns, self.named = list(state["task_columns"]), state["named"]
        if self.past:
            self.past.load(state["past"])

    def footprint(self) -> Footprint:
        """The bytes of the network and of what makes patterns; and of the patterns."""
        own = super().footprint()
        if not self.past:
            return own
        return Footprint(own.weights + self.past.n_weight_bytes, own.memory + self.past.nbytes)

    def _replayed(self) -> dict[int, int]:
        """The columns that are replayed in this task, and how many patterns of each."""
        return self.past.counts() if self.past and self.n_ended else {}

    def _sample(self, n: int) -> Patterns:
        device = self.head.weight.device
        if not self.past or not self.n_ended:
            return Patterns(torch.zeros(0, device=device), torch.zeros(0, dtype=torch.long, device=device))
        values, columns = self.past.sample(n, self.n_steps)
        return Patterns(values.to(device), columns.to(device))

    @torch.no_grad()
    def _share_named(self) -> float:
        old = self._sample(ASKED)
        if not len(old.columns):
            return 0.0
        answers = self.known_outputs(self.features_of(old.values)).argmax(1)
        return float((answers == old.columns).float().mean())


def only_moving(outputs: Tensor, columns: list[int], *, since: int) -> Tensor:
    """The same outputs; from row `since` on, learning moves only those of some columns.

    Example:
        >>> outputs = torch.zeros(2, 3, requires_grad=True)
        >>> only_moving(outputs, [2], since=1).sum().backward()
        >>> outputs.grad
        tensor([[1., 1., 1.],
                [0., 0., 1.]])
    """
    moves = torch.zeros_like(outputs, dtype=torch.bool)
    moves[:since] = True
    moves[:, columns] = True
    return torch.where(moves, outputs, outputs.detach())
