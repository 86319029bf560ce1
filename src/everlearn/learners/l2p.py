"""Learning to prompt (L2P)."""

from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput, check_range
from everlearn.learners.base import Learner, Losses, setting
from everlearn.learners.stateful import Footprint, Names, State, Stateful
from everlearn.networks import GrowingHead, flops_per_image, map_batches, module_state, n_bytes, seeded
from everlearn.networks.devices import loss_value
from everlearn.networks.vit import ViT
from everlearn.networks.weights import load_vit
from everlearn.rng import IntArray
from everlearn.serialization import digest
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

MAX_GRADIENT_NORM = 1.0


class L2P(Learner):
    """Learning to prompt.

    A pretrained transformer is frozen; prompts, their keys and a head are trained. The class token of an
    image is the query that selects the `n_selected` prompts with the most similar keys; these are put before
    the tokens of the image, and the mean of their outputs is classified. With q the query and k the selected
    keys, the loss is cross-entropy over the labels of the current task - pull_weight * sum of cosines (q, k).
    It does well where the transformer was trained on similar images, and fails elsewhere: prompts cannot
    change its features. Images are resized to the transformer's input size; gray ones are repeated over
    channels.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = L2P.tiny()
        >>> learner.begin(task.for_learner())
        >>> sorted(learner.learn(task.train[:8]))
        ['cross_entropy', 'loss', 'similarity']

    Reference: Wang et al. 2022, "Learning to prompt for continual learning", arXiv:2112.08654.
    """

    weights: str = setting(
        "a .safetensors file with timm's names, such as `everlearn pretrain` writes, or hub:OWNER/NAME; if "
        "empty, a small transformer with random weights",
        default="",
    )
    learning_rate: float = setting("learning rate of Adam, new in each task", default=0.01, ge=1e-9, le=1)
    n_prompts: int = setting("prompts in the pool", default=10, ge=1, le=10_000)
    prompt_length: int = setting("tokens of a prompt", default=5, ge=1, le=1000)
    n_selected: int = setting("prompts selected for each image", default=5, ge=1)
    pull_weight: float = setting("weight of cosines of queries and selected keys", default=0.1, ge=0, le=1e6)

    parts: ClassVar[Names] = ("backbone", "pool", "head", "optim")
    counters: ClassVar[Names] = ("task_labels",)
    supervision = "labelled images, a pretrained network"
    tiny_settings: ClassVar = {"n_prompts": 4, "prompt_length": 2, "n_selected": 2}

    def setup(self) -> None:
        check_range("n_selected", self.n_selected, 1, self.n_prompts)
        self.backbone = _FrozenViT(self.weights, self.seed)
        self.vit = self.backbone.vit
        self.pool = _PromptPool(self.n_prompts, self.prompt_length, self.vit.n_features, self.seed)
        self.head = GrowingHead(self.vit.n_features)
        self.optim = self.make_optimizer()
        self.task_labels: list[int] = []
        input_shape = (self.vit.image_size, self.vit.image_size, self.vit.n_channels)
        self.forward_flops = flops_per_image(self.vit, input_shape)

    def begin(self, task: TaskView) -> None:
        self.task_labels = sorted(task.labels)
        self.head.add_labels(self.task_labels)
        self.optim = self.make_optimizer()

    def learn(self, batch: Batch) -> Losses:
        if self.head.add_labels(batch.labels):
            self.optim = self.make_optimizer()
        losses = self._losses(batch)
        loss = losses["cross_entropy"] - self.pull_weight * losses["similarity"]
        self.optim.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._parameters(), MAX_GRADIENT_NORM)
        self.optim.step()
        return {"loss": loss_value(loss), **{name: loss_value(x) for name, x in losses.items()}}

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        labels = np.array(self.head.labels, np.int64)
        if not len(labels):
            return np.full(len(images), -1, np.int64)
        indices = map_batches(lambda some: self.head(self._prompted(some)[0]).argmax(1), images)
        return np.asarray(labels[indices.numpy()])

    def make_optimizer(self) -> torch.optim.Optimizer:
        """A new optimizer of prompts, keys and head."""
        return torch.optim.Adam(self._parameters(), lr=self.learning_rate, foreach=True)

    def _losses(self, batch: Batch) -> dict[str, Tensor]:
        features, similarity = self._prompted(batch.images)
        # Query, prompted pass and half a backward pass (to the prompts) cost as much as one training pass.
        self.count_flops(len(batch), self.forward_flops)
        targets = self.head.class_indices(batch.labels)
        # Labels of the batch that are not in the task take part too.
        current = self.head.class_indices([*self.task_labels, *batch.labels.tolist()])
        is_masked = torch.ones(len(self.head.labels), dtype=torch.bool, device=targets.device)
        logits = self.head(features).masked_fill(is_masked.index_fill(0, current, False), -torch.inf)
        return {"cross_entropy": functional.cross_entropy(logits, targets), "similarity": similarity.mean()}

    def _prompted(self, images: Images) -> tuple[Tensor, Tensor]:
        """The features (n, d) of images with their prompts, and the similarity (n,) of queries and keys."""
        with torch.no_grad():
            tokens = self.vit.tokens(self.vit.preprocess(images))
            queries = self.vit.encode(tokens)[:, 0]
        prompts, similarity = self.pool(queries, self.n_selected)
        encoded = self.vit.encode(torch.cat([prompts, tokens], dim=1))
        return encoded[:, : prompts.shape[1]].mean(1), similarity

    def _parameters(self) -> list[nn.Parameter]:
        return [*self.pool.parameters(), *self.head.parameters()]


class _FrozenViT(Stateful):
    """A frozen transformer; its weights count, but a state has only their digest."""

    def __init__(self, weights: str, seed: int) -> None:
        with seeded(seed):
            self.vit = load_vit(weights) if weights else ViT()
        self.vit.head = nn.Identity()  # the head that it was trained with is not used
        self.vit.requires_grad_(False).eval()
        self.weights, self.digest = weights, digest(module_state(self.vit))

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


class _PromptPool(nn.Module):
    """Prompts (n_prompts, length, d) and a key (d,) for each."""

    def __init__(self, n_prompts: int, length: int, n_features: int, seed: int) -> None:
        super().__init__()
        with seeded(seed):
            self.prompts = nn.Parameter(torch.empty(n_prompts, length, n_features).uniform_(-1, 1))
            self.keys = nn.Parameter(torch.empty(n_prompts, n_features).uniform_(-1, 1))

    def forward(self, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The prompts (n, k * length, d) with the keys most similar to queries, and sums of cosines."""
        cosines = functional.normalize(queries, dim=1) @ functional.normalize(self.keys, dim=1).T
        best, rows = cosines.topk(k, dim=1)
        return self.prompts[rows].flatten(1, 2), best.sum(1)
