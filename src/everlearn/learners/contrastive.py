"""Learn what stays the same instead of what changes: the invariant rival of disentangled learning."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, Learner, Losses, State
from everlearn.learners.old_base.descent import Descent
from everlearn.memory import ExemplarMemory
from everlearn.networks import (
    BACKWARD,
    data_parallel,
    flops_per_image,
    load_module,
    load_optimizer,
    make_backbone,
    module_state,
    n_bytes,
    optimizer_state,
    seeded,
    to_tensor,
)
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

PIECE = 256
"""Images looked at together when answering."""


class Contrastive(Learner):
    """Pull the code of an image to that of its exemplar, push codes of different classes apart.

    With z the code of an image, e that of its class's exemplar and s the cosine, the loss of an image i is
    l1 = -s(z_i, e_i) / t + log sum over images k of other classes of exp(s(z_i, z_k) / t), and
    l2 = -1 / t + log sum over other exemplars k of the batch of exp(s(e_i, e_k) / t), averaged over images.
    The answer is the class whose remembered exemplar has the nearest code. Expect it to decay slowly, yet to
    decay: the network learns to ignore pose for the classes at hand and unlearns it for earlier ones.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        backbone: "small" or "resnet18".
        optimizer: "adam" or "sgd".
        learning_rate: the optimiser's step size.
        momentum: of "sgd"; Adam has its own.
        n_codes: length of a code.
        temperature: t; the smaller, the more the nearest of other classes count.
        separation: weight of l2; 0 leaves it out.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = Contrastive.tiny()
        >>> learner.begin(task.for_learner())
        >>> sorted(learner.learn(task.train[:8]))
        ['loss', 'pull', 'separation']
        >>> (learner.predict(task.exemplars.images) == task.exemplars.labels).all()
        np.True_

    Reference: Dziadzio et al. 2023, arXiv:2312.16731, appendix A.4; after Chen et al. 2020, "A simple
    framework for contrastive learning of visual representations", arXiv:2002.05709.
    """

    supervision = "labelled images, exemplars"
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
        n_codes: int = 128,
        temperature: float = 0.5,
        separation: float = 1.0,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        descent = Descent(optimizer=optimizer, learning_rate=learning_rate, momentum=momentum)
        check_range("n_codes", n_codes, 1, 65_536)
        check_range("temperature", temperature, 1e-3, 1e3)
        check_range("separation", separation, 0, 1e6)
        self.n_codes, self.temperature, self.separation = n_codes, temperature, separation
        self.memory = ExemplarMemory()
        self.net = data_parallel(_coding_net(backbone, image_shape, n_codes, seed))
        self.optimiser = descent.over(self.net.parameters())
        self.n_steps = 0
        self._flops_per_image = (1 + BACKWARD) * flops_per_image(self.net, image_shape)
        self._known: tuple[int, int, Tensor] | None = None  # step, version of the memory, codes

    def begin(self, task: TaskView) -> None:
        """Write down the exemplars of classes not met before."""
        self._remember(task.exemplars)

    def learn(self, batch: Batch) -> Losses:
        """One step on the images of a batch and the exemplars of their classes."""
        self._remember(batch)  # a class without exemplar goes by its first image
        labels, own = np.unique(batch.labels, return_inverse=True)
        shown = np.stack([self.memory.images_of(label)[0] for label in labels.tolist()])
        self.net.train()
        codes = self._codes(np.concatenate([batch.images, shown]))
        losses = self._losses(
            codes[: len(batch)], codes[len(batch) :], torch.from_numpy(own).to(codes.device)
        )
        loss = losses["pull"] + self.separation * losses["separation"]
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.n_steps += 1
        self.flops += len(codes) * self._flops_per_image
        return {"loss": float(loss.detach()), **{name: float(x.detach()) for name, x in losses.items()}}

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The class of the exemplar with the nearest code."""
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        rows = self._similarities(images).argmax(1)
        return np.asarray(self.memory.labels[rows.numpy()])

    def novelty(self, images: Images) -> npt.NDArray[np.float64]:
        """How far the nearest exemplar's code is, 0 to 1."""
        if not len(self.memory):
            return np.ones(len(images))
        nearest = self._similarities(images).amax(1)
        return np.asarray(((1 - nearest) / 2).clamp(0, 1).numpy())

    def state(self) -> State:
        """Weights, optimiser, memory, counters."""
        return {
            "net": module_state(self.net),
            "optimiser": optimizer_state(self.optimiser),
            "memory": self.memory.state(),
            "n_steps": self.n_steps,
            "flops": self.flops,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        load_module(self.net, state["net"])
        load_optimizer(self.optimiser, state["optimiser"])
        self.memory.load(state["memory"])
        self.n_steps, self.flops, self._known = state["n_steps"], state["flops"], None

    def footprint(self) -> Footprint:
        """The bytes of the network, and of the images remembered."""
        return Footprint(weights=n_bytes(self.net), memory=self.memory.nbytes)

    def _losses(self, codes: Tensor, exemplars: Tensor, own: Tensor) -> dict[str, Tensor]:
        """L1 and l2; `own` tells which exemplar belongs to each image."""
        t = self.temperature
        nearness = (codes * exemplars[own]).sum(1) / t
        others = (codes @ codes.T / t).masked_fill(own[:, None] == own, -torch.inf)
        itself = torch.eye(len(exemplars), dtype=torch.bool, device=codes.device)
        rivals = (exemplars @ exemplars.T / t).masked_fill(itself, -torch.inf)
        separation = (_log_sum(rivals) - 1 / t) if len(exemplars) > 1 else torch.zeros_like(rivals[0])
        return {"pull": (_log_sum(others) - nearness).mean(), "separation": separation[own].mean()}

    @torch.no_grad()
    def _similarities(self, images: Images) -> Tensor:
        """The cosines (n, n_exemplars) between codes."""
        self.net.eval()
        if self._known is None or self._known[:2] != (self.n_steps, self.memory.version):
            self._known = (self.n_steps, self.memory.version, self._codes_in_pieces(self.memory.images))
        return self._codes_in_pieces(images) @ self._known[2].T

    def _codes_in_pieces(self, images: Images) -> Tensor:
        # Copies, since torch warns of images that a memory lends for reading only.
        parts = [self._codes(images[i : i + PIECE].copy()).cpu() for i in range(0, len(images), PIECE)]
        return torch.cat([torch.zeros(0, self.n_codes, dtype=torch.double), *parts])

    def _codes(self, images: Images) -> Tensor:
        # In double precision: the codes of a network that has learned little yet are nearly parallel.
        device = next(self.net.parameters()).device
        return functional.normalize(self.net(to_tensor(images, device)).double(), dim=1)

    def _remember(self, batch: Batch) -> None:
        labels, first = np.unique(batch.labels, return_index=True)
        new = [label not in self.memory for label in labels.tolist()]
        self.memory.add(batch[np.sort(first[np.array(new, bool)])])


def _coding_net(name: str, image_shape: tuple[int, ...], n_codes: int, seed: int) -> nn.Sequential:
    """A backbone, and a head of two layers as contrastive learning has it."""
    body = make_backbone(name, image_shape, seed)
    n = int(body.n_features)  # type: ignore[arg-type]  # a module's number
    with seeded(seed):
        return nn.Sequential(body, nn.Linear(n, n), nn.ReLU(), nn.Linear(n, n_codes))


def _log_sum(exponents: Tensor) -> Tensor:
    """The log of the sum of exponentials in each row; 0 where a row is all -inf: nobody to push away."""
    alone = torch.isneginf(exponents).all(1)
    return torch.logsumexp(exponents.masked_fill(alone[:, None], 0.0), 1).masked_fill(alone, 0.0)
