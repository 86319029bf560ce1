"""Learning to prompt: a frozen transformer, and a pool of words to whisper to it."""

from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput, check_range
from everlearn.learners.base import Footprint, Learner, Losses, State
from everlearn.networks import (
    BACKWARD,
    GrowingHead,
    flops_per_image,
    load_module,
    load_optimizer,
    module_state,
    n_bytes,
    optimizer_state,
    seeded,
)
from everlearn.networks.vit import ViT
from everlearn.networks.weights import open_vit
from everlearn.rng import IntArray
from everlearn.serialization import digest
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

PIECE = 256
"""Images looked at together when answering."""
LARGEST_GRADIENT = 1.0


class L2P(Learner):
    """Keep a pretrained transformer frozen; learn prompts, which of them suit an image, and a head.

    What the transformer sees in an image picks the `chosen` prompts with the most similar keys; these are put
    before its tokens, and the mean of what they become is classified. With q the query and k the keys chosen,
    the loss is cross-entropy over the labels of the current task - pull · sum of cosines (q, k). Expect it to
    do well where the transformer was trained on things like these, and to fail elsewhere: prompts cannot
    teach it to see. Images are resized to the transformer's size, gray ones repeated for its colours.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        weights: a .safetensors file with timm's names, such as `everlearn pretrain` writes, or
            hub:OWNER/NAME; without any, a small transformer stays as it was initialised.
        learning_rate: Adam's step size; Adam starts afresh with each task.
        n_prompts: prompts in the pool.
        prompt_length: tokens of a prompt.
        chosen: prompts put before each image.
        pull: weight of the cosines between queries and chosen keys.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = L2P.tiny()
        >>> learner.begin(task.for_learner())
        >>> sorted(learner.learn(task.train[:8]))
        ['entropy', 'loss', 'similarity']

    Reference: Wang et al. 2022, "Learning to prompt for continual learning", arXiv:2112.08654.
    """

    supervision = "labelled images, a pretrained network"

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        weights: str = "",
        learning_rate: float = 0.01,
        n_prompts: int = 10,
        prompt_length: int = 5,
        chosen: int = 5,
        pull: float = 0.1,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        check_range("learning_rate", learning_rate, 1e-9, 1)
        check_range("n_prompts", n_prompts, 1, 10_000)
        check_range("prompt_length", prompt_length, 1, 1000)
        check_range("chosen", chosen, 1, n_prompts)
        check_range("pull", pull, 0, 1e6)
        self.learning_rate, self.chosen, self.pull = learning_rate, chosen, pull
        self.weights = weights
        self.body = _frozen(weights, seed)
        self.body_digest = digest(module_state(self.body))
        self.pool = _Pool(n_prompts, prompt_length, self.body.n_features, seed)
        self.head = GrowingHead(self.body.n_features)
        self.optimiser = self._fresh_optimiser()
        self.task_labels: list[int] = []
        shape = (self.body.image_size, self.body.image_size, self.body.n_channels)
        # Once for the query; once more, and back to the prompts, with the prompts.
        self._flops_per_image = (2 + BACKWARD / 2) * flops_per_image(self.body, shape)

    def begin(self, task: TaskView) -> None:
        """Note which labels compete in this task; the optimiser starts afresh."""
        self.task_labels = sorted(task.labels)
        self.head.add_labels(self.task_labels)
        self.optimiser = self._fresh_optimiser()

    def learn(self, batch: Batch) -> Losses:
        """One step on prompts, keys and head."""
        if self.head.add_labels(batch.labels):
            self.optimiser = self._fresh_optimiser()
        losses = self._losses(batch)
        loss = losses["entropy"] - self.pull * losses["similarity"]
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._parameters(), LARGEST_GRADIENT)
        self.optimiser.step()
        self.flops += len(batch) * self._flops_per_image
        return {"loss": float(loss.detach()), **{name: float(x.detach()) for name, x in losses.items()}}

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The label with the largest output; each image picks its prompts by itself."""
        if not self.head.labels:
            return np.full(len(images), -1, np.int64)
        pieces = (images[start : start + PIECE] for start in range(0, len(images), PIECE))
        columns = [self.head(self._prompted(piece)[0]).argmax(1).cpu().numpy() for piece in pieces]
        known = np.array(self.head.labels, np.int64)
        return np.asarray(known[np.concatenate([np.zeros(0, np.int64), *columns])])

    def state(self) -> State:
        """What learning changes: prompts, keys, head, optimiser, labels; of the transformer a digest."""
        return {
            "body_digest": self.body_digest,
            "pool": module_state(self.pool),
            "head": module_state(self.head),
            "labels": list(self.head.labels),
            "task_labels": list(self.task_labels),
            "optimiser": optimizer_state(self.optimiser),
            "flops": self.flops,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state; complain if it was learned with another transformer."""
        self._check_body(state.get("body_digest", "unknown"))
        load_module(self.pool, state["pool"])
        head = GrowingHead(self.body.n_features, capacity=len(state["head"]["weight"]))
        head.add_labels(state["labels"])
        load_module(head, state["head"])
        self.head = head.to(self.pool.keys.device)
        self.optimiser = self._fresh_optimiser()
        load_optimizer(self.optimiser, state["optimiser"])
        self.task_labels, self.flops = list(state["task_labels"]), state["flops"]

    def footprint(self) -> Footprint:
        """The bytes of the transformer, the prompts and the head."""
        return Footprint(weights=sum(map(n_bytes, (self.body, self.pool, self.head))))

    @classmethod
    def tiny(cls, image_shape: tuple[int, ...] = (16, 16), seed: int = 0) -> Self:
        """One with few prompts, for tests and doctests."""
        return cls(image_shape=image_shape, seed=seed, n_prompts=4, prompt_length=2, chosen=2)

    def _check_body(self, saved: str) -> None:
        if saved != self.body_digest:
            raise BadInput(
                f"the frozen weights ({self.weights or 'none were given'}) have digest "
                f"{self.body_digest:.12}, but these prompts were learned with {saved:.12}; give the weights "
                "they were learned with"
            )

    def _losses(self, batch: Batch) -> dict[str, Tensor]:
        features, similarity = self._prompted(batch.images)
        columns = self.head.class_indices(batch.labels)
        # A label that came without being announced competes as well.
        rivals = self.head.class_indices(self.task_labels + batch.labels.tolist())
        absent = torch.ones(len(self.head.labels), dtype=torch.bool, device=columns.device)
        outputs = self.head(features).masked_fill(absent.index_fill(0, rivals, False), -torch.inf)
        return {"entropy": functional.cross_entropy(outputs, columns), "similarity": similarity.mean()}

    def _prompted(self, images: Images) -> tuple[Tensor, Tensor]:
        """The features (n, d) of images with their prompts, and the similarity (n,) of queries and keys."""
        with torch.no_grad():
            tokens = self.body.tokens(self.body.seen(images))
            queries = self.body.encode(tokens)[:, 0]
        prompts, similarity = self.pool(queries, self.chosen)
        encoded = self.body.encode(torch.cat([prompts, tokens], dim=1))
        return encoded[:, : prompts.shape[1]].mean(1), similarity

    def _parameters(self) -> list[nn.Parameter]:
        return [*self.pool.parameters(), *self.head.parameters()]

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self._parameters(), lr=self.learning_rate)


class _Pool(nn.Module):
    """Prompts (n_prompts, length, d) and a key (d,) for each."""

    def __init__(self, n_prompts: int, length: int, n_features: int, seed: int) -> None:
        super().__init__()
        with seeded(seed):
            self.prompts = nn.Parameter(torch.empty(n_prompts, length, n_features).uniform_(-1, 1))
            self.keys = nn.Parameter(torch.empty(n_prompts, n_features).uniform_(-1, 1))

    def forward(self, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The prompts (n, k * length, d) whose keys are most like the queries, and the sums of cosines."""
        cosines = functional.normalize(queries, dim=1) @ functional.normalize(self.keys, dim=1).T
        best, rows = cosines.topk(k, dim=1)
        return self.prompts[rows].flatten(1, 2), best.sum(1)


def _frozen(weights: str, seed: int) -> ViT:
    with seeded(seed):
        net = open_vit(weights) if weights else ViT()
    net.head = nn.Identity()  # the classifier it was trained with is of no use here
    return net.requires_grad_(False).eval()
