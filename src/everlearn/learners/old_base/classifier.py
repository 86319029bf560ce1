"""The common part of learners that train a network with one output per label."""

from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.base import Footprint, Learner, Losses, State
from everlearn.learners.old_base.descent import Descent
from everlearn.networks import (
    BACKWARD,
    GrowingHead,
    data_parallel,
    flops_per_image,
    load_module,
    load_optimizer,
    make_backbone,
    module_state,
    n_bytes,
    optimizer_state,
    to_tensor,
)
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch
from everlearn.streams.stream import Images

PREDICT_PIECE = 256
"""Images predicted at once: enough to be fast, few enough to answer a signal soon."""


class Shared(TypedDict, total=False):
    """The settings of `Classifier`, which methods pass on, so that all of them are compared alike."""

    image_shape: tuple[int, ...]
    seed: int
    backbone: str
    optimizer: str
    learning_rate: float
    momentum: float


class Classifier(Learner):
    """A backbone, a head that grows with the labels, and an optimiser.

    A method overrides `loss` (what to minimise on a batch), `descend` (how) or `learn` (what to do with a
    batch), names its own settings in its constructor and passes the shared ones on.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        backbone: "small", "pooled", "resnet18" or "mlp"; the first three also with -renorm behind them, for
            normalisation that does not care who else is in the batch; or "mobile", which has it anyway.
        optimizer: "adam" or "sgd".
        learning_rate: the optimiser's step size.
        momentum: of "sgd"; Adam has its own.
    """

    supports_data_parallel = True

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        backbone: str = "small",
        optimizer: str = "adam",
        learning_rate: float = 1e-3,
        momentum: float = 0.0,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        self.descent = Descent(optimizer=optimizer, learning_rate=learning_rate, momentum=momentum)
        self._backbone = backbone
        self._device = torch.get_default_device()
        self.restart()
        self.n_steps = 0
        self._flops_per_image = (1 + BACKWARD) * flops_per_image(self.body, image_shape)

    def restart(self) -> None:
        """Begin anew: the first weights, no labels, an optimiser without a past."""
        with self._device:
            self.body = data_parallel(make_backbone(self._backbone, self.image_shape, self.seed))
        self.head = self._fresh_head()
        self.optimiser = self._fresh_optimiser()

    def learn(self, batch: Batch) -> Losses:
        """One step of the optimiser on the batch."""
        return {"loss": self.step(batch)}

    def step(self, batch: Batch) -> float:
        """Minimise `loss` on the batch by one step."""
        self.body.train()
        loss = self.loss(*self.tensors(batch))
        self.descend(loss)
        self.n_steps += 1
        return float(loss.detach())

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """What a step makes smaller: cross-entropy over all labels seen so far."""
        return functional.cross_entropy(self.outputs(images), columns)

    def descend(self, loss: Tensor) -> None:
        """Move the weights a step down the slope of the loss."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def tensors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The images, and the column of each label; a label not seen before gets one."""
        self.admit(batch.labels)
        return self._tensor(batch.images), self.head.class_indices(batch.labels)

    def outputs(self, images: Tensor) -> Tensor:
        """What the network says to images it learns from, (n, n_labels); the work is counted."""
        self.flops += len(images) * self._flops_per_image
        outputs: Tensor = self.head(self.body(images))
        return outputs

    def scores(self, images: Tensor) -> Tensor:
        """What the network says to images it is asked about, (n, n_labels)."""
        scores: Tensor = self.head(self.body(images))
        return scores

    def weights(self) -> list[nn.Parameter]:
        """All that the optimiser moves."""
        return [*self.body.parameters(), *self.head.parameters()]

    @torch.no_grad()
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The label with the largest output."""
        if not self.head.labels:
            return np.full(len(images), -1, np.int64)
        self.body.eval()
        pieces = (self._tensor(images[i : i + PREDICT_PIECE]) for i in range(0, len(images), PREDICT_PIECE))
        columns = [self.scores(piece).argmax(1).cpu().numpy() for piece in pieces]
        return (
            np.array(self.head.labels, np.int64)[np.concatenate(columns)]
            if columns
            else np.empty(0, np.int64)
        )

    @torch.no_grad()
    def features(self, images: Images) -> FloatArray:
        """What the body makes of images, (n, n_features)."""
        self.body.eval()
        pieces = (self._tensor(images[i : i + PREDICT_PIECE]) for i in range(0, len(images), PREDICT_PIECE))
        none = torch.zeros(0, self.head.weight.shape[1])
        return np.asarray(torch.cat([none, *(self.body(piece).cpu() for piece in pieces)]).double().numpy())

    def admit(self, labels: IntArray) -> None:
        """Make room in the head for labels not seen before; the optimiser keeps what it knows."""
        if self.head.add_labels(labels):
            old = optimizer_state(self.optimiser)
            self.optimiser = self._fresh_optimiser()
            load_optimizer(self.optimiser, padded_to(old, self.weights()))

    def state(self) -> State:
        """Weights, labels, optimiser, counter."""
        return {
            "body": module_state(self.body),
            "head": module_state(self.head),
            "labels": list(self.head.labels),
            "optimiser": optimizer_state(self.optimiser),
            "n_steps": self.n_steps,
            "flops": self.flops,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self.head = self._fresh_head(capacity=len(state["head"]["weight"]))
        self.head.add_labels(state["labels"])
        load_module(self.body, state["body"])
        load_module(self.head, state["head"])
        self.optimiser = self._fresh_optimiser()
        load_optimizer(self.optimiser, state["optimiser"])
        self.n_steps, self.flops = state["n_steps"], state["flops"]

    def footprint(self) -> Footprint:
        """The bytes of the network."""
        return Footprint(weights=n_bytes(self.body) + n_bytes(self.head))

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, self.head.weight.device)

    def _fresh_head(self, capacity: int = 16) -> GrowingHead:
        head = GrowingHead(int(self.body.n_features), capacity)  # type: ignore[arg-type]  # a module's number
        return head.to(next(self.body.parameters()).device)

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        return self.descent.over(self.weights())


def padded_to(slots: dict[str, Any], parameters: list[nn.Parameter]) -> dict[str, Any]:
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
