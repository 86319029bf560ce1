"""The base class of learners that prompt a frozen vision transformer, and their parts."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.base import Learner, Losses, setting
from everlearn.learners.stateful import Footprint, Names, State, Stateful
from everlearn.networks import (
    GrowingHead,
    flops_per_image,
    load_module,
    map_batches,
    module_state,
    n_bytes,
    seeded,
)
from everlearn.networks.devices import loss_values
from everlearn.networks.tensors import Arrays
from everlearn.networks.vit import ViT
from everlearn.networks.weights import load_vit
from everlearn.rng import IntArray
from everlearn.serialization import digest
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

MAX_GRADIENT_NORM = 1.0


class PromptLearner(Learner):
    """A frozen vision transformer, prompts that are trained, and a head that grows with the labels.

    A method builds its prompts in `make_pool` and defines `losses` and `prompted`. The class token of an
    image in the transformer without prompts is its query, by which prompts are selected. Images are resized
    to the transformer's input size; gray ones are repeated over channels.
    """

    weights: str = setting(
        "a .safetensors file with timm's names, such as `everlearn pretrain` writes, or hub:OWNER/NAME; if "
        "empty, a small transformer with random weights",
        default="",
    )
    learning_rate: float = setting("learning rate of Adam, new in each task", default=0.01, ge=1e-9, le=1)

    parts: ClassVar[Names] = ("backbone", "pool", "head", "optim")
    counters: ClassVar[Names] = ("task_labels",)
    supervision = "labelled images, a pretrained network"

    def setup(self) -> None:
        self.backbone = FrozenViT(self.weights, self.seed)
        self.vit = self.backbone.vit
        self.pool: Any = self.make_pool()
        self.head = GrowingHead(self.vit.n_features)
        self.optim = self.make_optimizer()
        self.task_labels: list[int] = []
        input_shape = (self.vit.image_size, self.vit.image_size, self.vit.n_channels)
        self.forward_flops = flops_per_image(self.vit, input_shape)

    @abstractmethod
    def make_pool(self) -> nn.Module:
        """The prompts and keys with their initial values."""

    @abstractmethod
    def losses(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss that a step minimizes, and its terms by name."""

    @abstractmethod
    def prompted(self, images: Images) -> Tensor:
        """The features (n, n_features) of images with the prompts that are selected for them."""

    def begin(self, task: TaskView) -> None:
        self.task_labels = sorted(task.labels)
        self.head.add_labels(self.task_labels)
        self.optim = self.make_optimizer()

    def learn(self, batch: Batch) -> Losses:
        if self.head.add_labels(batch.labels):
            self.optim = self.make_optimizer()
        loss, terms = self.losses(batch)
        # Query, prompted pass and half a backward pass (to the prompts) cost as much as one training pass.
        self.count_flops(len(batch), self.forward_flops)
        self.optim.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._parameters(), MAX_GRADIENT_NORM)
        self.optim.step()
        return loss_values({"loss": loss, **terms})

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        labels = np.array(self.head.labels, np.int64)
        if not len(labels):
            return np.full(len(images), -1, np.int64)
        indices = map_batches(lambda part: self.head(self.prompted(part)).argmax(1), images)
        return np.asarray(labels[indices.numpy()])

    def make_optimizer(self) -> torch.optim.Optimizer:
        """A new optimizer of prompts, keys and head."""
        return torch.optim.Adam(self._parameters(), lr=self.learning_rate, foreach=True)

    def cross_entropy(self, features: Tensor, labels: IntArray) -> Tensor:
        """The cross-entropy of features over the labels of the current task."""
        targets = self.head.class_indices(labels)
        # Labels of the batch that are not in the task are included too.
        current = self.head.class_indices([*self.task_labels, *labels.tolist()])
        is_masked = torch.ones(len(self.head.labels), dtype=torch.bool, device=targets.device)
        logits = self.head(features).masked_fill(is_masked.index_fill(0, current, False), -torch.inf)
        return functional.cross_entropy(logits, targets)

    def _parameters(self) -> list[nn.Parameter]:
        return [*self.pool.parameters(), *self.head.parameters()]


class FrozenViT(Stateful):
    """A frozen transformer; the footprint counts its weights, but a state has only their digest.

    Example:
        >>> tokens, queries = FrozenViT("", seed=0).tokens_and_queries(np.zeros((5, 16, 16), np.uint8))
        >>> tokens.shape, queries.shape
        (torch.Size([5, 17, 128]), torch.Size([5, 128]))
    """

    def __init__(self, weights: str, seed: int) -> None:
        with seeded(seed):
            self.vit = load_vit(weights) if weights else ViT()
        self.vit.head = nn.Identity()  # the pretrained head is not used
        self.vit.requires_grad_(False).eval()
        self.weights, self.digest = weights, digest(module_state(self.vit))

    @torch.no_grad()
    def tokens_and_queries(self, images: Images) -> tuple[Tensor, Tensor]:
        """The tokens (n, m, d) of images, and their class tokens (n, d) without prompts."""
        tokens = self.vit.tokens(self.vit.preprocess(images))
        return tokens, self.vit.encode(tokens)[:, 0]

    def state(self) -> State:
        return {"digest": self.digest}

    def load(self, state: State) -> None:
        if state["digest"] != self.digest:
            raise BadInput(
                f"the frozen weights ({self.weights or 'none were given'}) have digest {self.digest:.12}, "
                f"but the prompts were trained with {state['digest']:.12}; give those weights"
            )

    def to(self, device: torch.device) -> Self:
        self.vit.to(device)
        return self

    def footprint(self) -> Footprint:
        return Footprint(weights=n_bytes(self.vit))


class GrowingPrompts(nn.Module):
    """Parameters whose first dimension grows from task to task."""

    def append(self, **rows: Tensor) -> None:
        """Append rows to parameters by name; this replaces the parameters."""
        for name, new in rows.items():
            old: Tensor = getattr(self, name).detach()
            setattr(self, name, nn.Parameter(torch.cat([old, new.to(old)])))

    def state(self) -> Arrays:
        """All parameters."""
        return module_state(self)

    def load(self, state: Arrays) -> None:
        """Continue from what `state` returned, with its sizes."""
        for name, old in list(self.named_parameters()):
            setattr(self, name, nn.Parameter(old.new_zeros(state[name].shape)))
        load_module(self, state)
