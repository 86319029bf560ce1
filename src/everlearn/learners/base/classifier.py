"""The common part of learners that train a network with one output per label."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.chance import IntArray
from everlearn.errors import BadInput
from everlearn.learners.base.learner import Footprint, Learner, Losses, State
from everlearn.networks import (
    BACKWARD,
    GrowingHead,
    backbone,
    flops_per_image,
    load_module,
    load_optimiser,
    module_state,
    n_bytes,
    optimiser_state,
    to_tensor,
)
from everlearn.streams import Batch
from everlearn.streams.batch import Images

PREDICT_PIECE = 256
"""Images predicted at once: enough to be fast, few enough to answer a signal soon."""


class Classifier(Learner):
    """A backbone, a head that grows with the labels, and Adam.

    A method overrides `loss` (what to minimise on a batch) or `learn` (what to do with a batch).

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        backbone: "small" or "resnet18".
        learning_rate: Adam's step size.
    """

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        backbone: str = "small",
        learning_rate: float = 1e-3,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        if not 0 < learning_rate < 1e6:
            raise BadInput(f"learning_rate is {learning_rate}; it must be above 0 and below a million")
        self.body = _body(backbone, image_shape, seed)
        self.head = self._fresh_head()
        self.learning_rate = learning_rate
        self.optimiser = self._fresh_optimiser()
        self.n_steps = 0
        self._flops_per_image = (1 + BACKWARD) * flops_per_image(self.body, image_shape)

    def learn(self, batch: Batch) -> Losses:
        """One step of the optimiser on the batch."""
        return {"loss": self.step(batch)}

    def step(self, batch: Batch) -> float:
        """Minimise `loss` on the batch by one step."""
        self.admit(batch.labels)
        self.body.train()
        loss = self.loss(self._tensor(batch.images), self.head.columns(torch.from_numpy(batch.labels)))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.n_steps += 1
        self.flops += len(batch) * self._flops_per_image
        return float(loss.detach())

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """What a step makes smaller: cross-entropy over all labels seen so far."""
        return functional.cross_entropy(self.head(self.body(images)), columns)

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The label with the largest output."""
        if not self.head.labels:
            return np.full(len(images), -1, np.int64)
        self.body.eval()
        pieces = (self._tensor(images[i : i + PREDICT_PIECE]) for i in range(0, len(images), PREDICT_PIECE))
        columns = [self.head(self.body(piece)).argmax(1).cpu().numpy() for piece in pieces]
        return (
            np.array(self.head.labels, np.int64)[np.concatenate(columns)]
            if columns
            else np.empty(0, np.int64)
        )

    def admit(self, labels: IntArray) -> None:
        """Make room in the head for labels not seen before; the optimiser keeps what it knows."""
        if self.head.admit(list(dict.fromkeys(labels.tolist()))):
            old = optimiser_state(self.optimiser)
            self.optimiser = self._fresh_optimiser()
            load_optimiser(self.optimiser, _padded_to(old, self._parameters()))

    def state(self) -> State:
        """Weights, labels, optimiser, counter."""
        return {
            "body": module_state(self.body),
            "head": module_state(self.head),
            "labels": list(self.head.labels),
            "optimiser": optimiser_state(self.optimiser),
            "n_steps": self.n_steps,
            "flops": self.flops,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self.head = self._fresh_head(capacity=len(state["head"]["weight"]))
        self.head.admit(state["labels"])
        load_module(self.body, state["body"])
        load_module(self.head, state["head"])
        self.optimiser = self._fresh_optimiser()
        load_optimiser(self.optimiser, state["optimiser"])
        self.n_steps, self.flops = state["n_steps"], state["flops"]

    def footprint(self) -> Footprint:
        """The bytes of the network."""
        return Footprint(weights=n_bytes(self.body) + n_bytes(self.head))

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, self.head.weight.device)

    def _fresh_head(self, capacity: int = 16) -> GrowingHead:
        head = GrowingHead(int(self.body.n_features), capacity)  # type: ignore[arg-type]  # a module's number
        return head.to(next(self.body.parameters()).device)

    def _parameters(self) -> list[nn.Parameter]:
        return [*self.body.parameters(), *self.head.parameters()]

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self._parameters(), lr=self.learning_rate)


def _body(name: str, image_shape: tuple[int, ...], seed: int) -> nn.Module:
    return backbone(name, image_shape, seed)


def _padded_to(slots: dict[str, Any], parameters: list[nn.Parameter]) -> dict[str, Any]:
    """Optimiser arrays enlarged with zeros to the shapes of their (grown) parameters."""
    padded: dict[str, Any] = {}
    for number, arrays in slots.items():
        shape = tuple(parameters[int(number)].shape)
        padded[number] = {
            key: _padded(array, shape) if array.ndim else array for key, array in arrays.items()
        }
    return padded


def _padded(array: Any, shape: tuple[int, ...]) -> Any:
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(n) for n in array.shape)] = array
    return larger
