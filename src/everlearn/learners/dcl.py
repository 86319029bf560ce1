"""Disentangled continual learning: learn how things move, write down what they are."""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.chance import IntArray, draws
from everlearn.errors import BadInput, unknown
from everlearn.factors import Factors
from everlearn.learners.base.learner import Footprint, Learner, Losses, State
from everlearn.learners.base.recognition import Recognition, recognise, recognise_plainly
from everlearn.memory import ExemplarMemory
from everlearn.memory.lookup import Lookup
from everlearn.networks import load_module, load_optimiser, module_state, n_bytes, optimiser_state, to_tensor
from everlearn.networks.pose_net import Average, PoseNet, look
from everlearn.networks.similarity import compose, factors_of, inverse, poses_of, similarity
from everlearn.networks.warp import normalise, place
from everlearn.streams import Batch, TaskView
from everlearn.streams.batch import Images

SUPERVISION = ("factors", "exemplars")
PIECE = 256
CHECKED = 32
"""Pictures on which a batch is found surprising or not."""
CALM = 8
"""Batches let by unseen after one that did not surprise."""


class DCL(Learner):
    """A network learns how any object moves; one picture per class is written into an editable memory.

    The network sees the pose of what is shown: (s cos a, s sin a, x, y), learned by squared error. An answer
    brings the picture to the canonical frame, asks the memory for pictures like it, fits each candidate to
    the picture as given, and names the one that fits best. Nothing that is particular is in the network, so
    nothing is forgotten; a class is taught by one picture and erased with it.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        supervision: "factors" trains on given images and their true factors; "exemplars" needs no factors
            and trains on exemplars that the learner moves about itself.
        width: channels of the network's first layer.
        learning_rate: Adam's first step size; it falls with the root of the number of steps.
        looks: how often a pose is looked at, each time in the frame of the last; 1 looks once.
        averaging: how much of the averaged weights stays at each step; 0 answers with the newest.
        candidates: remembered pictures fitted to each image at a time; 0 answers with the nearest.
        rounds: how often the memory is asked for candidates, each time with the pose fitted last.
        surprise: error in pose (in half image widths) below which there is nothing to learn from a batch;
            0 learns from all.
        block: side of the blocks averaged for the memory's compact codes; 1 compares pictures themselves.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = DCL.tiny()
        >>> learner.memory.add(task.exemplars)
        >>> (learner.predict(task.exemplars.images) == task.exemplars.labels).all()
        np.True_

    Reference: Dziadzio et al. 2023, "Infinite dSprites for disentangled continual learning",
    arXiv:2312.16731.
    """

    given = "labelled images, factor labels, exemplars"

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        supervision: str = "factors",
        width: int = 16,
        learning_rate: float = 1e-3,
        looks: int = 2,
        averaging: float = 0.995,
        candidates: int = 5,
        rounds: int = 2,
        surprise: float = 0.01,
        block: int = 4,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        if supervision not in SUPERVISION:
            raise unknown("supervision", supervision, SUPERVISION)
        self.supervision, self.learning_rate, self.surprise = supervision, learning_rate, surprise
        self.looks, self.candidates, self.rounds, self.block = looks, candidates, rounds, block
        self.net = PoseNet(image_shape, width=width, seed=seed)
        self.average = Average(self.net, averaging)
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=learning_rate, fused=True)
        self.memory, self._lookup = ExemplarMemory(), Lookup(block=block)
        self.n_steps, self.n_calm = 0, 0

    def begin(self, task: TaskView) -> None:
        """Write down the exemplars of classes that are new."""
        self._remember(task.exemplars)

    def learn(self, batch: Batch) -> Losses:
        """One step on the poses of a batch, unless they are seen well enough already."""
        self._remember(_normalised(batch))
        if self.n_calm:
            self.n_calm -= 1
            return {"loss": 0.0, "trained": 0.0}
        images, poses = self._lesson(batch)
        if self._is_calm(images[:CHECKED], poses[:CHECKED]):
            self.n_calm = CALM
            return {"loss": 0.0, "trained": 0.0}
        return {"loss": self._step(*self._with_near(images, poses)), "trained": 1.0}

    def predict(self, images: Images, tasks: IntArray | None = None, *, reject: bool = False) -> IntArray:
        """The label of the remembered picture that fits best."""
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        return np.concatenate([np.zeros(0, np.int64), *(found.labels for found in self._recognise(images))])

    def estimate(self, images: Images) -> Factors:
        """Where and how the thing in each image is shown."""
        poses = [torch.from_numpy(found.poses) for found in self._recognise(images)]
        return factors_of(torch.cat(poses))

    def state(self) -> State:
        """Weights, averaged weights, optimiser, memory, counters."""
        return {
            "net": module_state(self.net),
            "average": module_state(self.average.net),
            "optimiser": optimiser_state(self.optimiser),
            "memory": self.memory.state(),
            "n_steps": self.n_steps,
            "n_calm": self.n_calm,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        load_module(self.net, state["net"])
        load_module(self.average.net, state["average"])
        load_optimiser(self.optimiser, state["optimiser"])
        self.memory.load(state["memory"])
        self._lookup = Lookup(block=self.block)
        self.n_steps, self.n_calm = state["n_steps"], state["n_calm"]

    def footprint(self) -> Footprint:
        """The bytes of both networks, and of the pictures remembered."""
        return Footprint(weights=n_bytes(self.net) + n_bytes(self.average.net), memory=self.memory.nbytes)

    def _remember(self, batch: Batch) -> None:
        """Keep the first picture of each class that has none."""
        labels, first = np.unique(batch.labels, return_index=True)
        new = first[[label not in self.memory for label in labels.tolist()]]
        self.memory.add(batch[np.sort(new)])

    def _lesson(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Images whose poses are known."""
        if self.supervision == "exemplars":
            return self._moved_exemplars(len(batch))
        if batch.factors is None:
            raise BadInput("these images come without factors; set supervision to 'exemplars'")
        return to_tensor(batch.images), poses_of(batch.factors)

    def _moved_exemplars(self, n: int) -> tuple[Tensor, Tensor]:
        """Remembered pictures in poses of our own choice."""
        chance = draws(self.seed, "dcl moves", self.n_steps)
        rows = chance.integers(n, len(self.memory))
        scale, angle, x, y = torch.from_numpy(chance.uniform(4 * n)).float().reshape(4, n)
        poses = similarity(0.45 + 0.65 * scale, 2 * torch.pi * angle, x - 0.5, y - 0.5)
        return place(to_tensor(self.memory.images[rows]), poses), poses

    def _with_near(self, images: Tensor, poses: Tensor) -> tuple[Tensor, Tensor]:
        """Add the same things close to the canonical pose, as they are seen when looking again."""
        if self.looks == 1:
            return images, poses
        n = (len(images) + 1) // 2
        size, turn, x, y = (
            torch.from_numpy(draws(self.seed, "dcl near", self.n_steps).normal(4 * n)).float().reshape(4, n)
        )
        near = similarity(torch.exp(0.08 * size), 0.12 * turn, 0.06 * x, 0.06 * y)
        seen = normalise(images[:n], compose(poses[:n], inverse(near)))
        return torch.cat([seen, images]), torch.cat([near, poses])

    def _is_calm(self, images: Tensor, poses: Tensor) -> bool:
        return float((look(self.average.net, images, self.looks) - poses).abs().mean()) < self.surprise

    def _step(self, images: Tensor, poses: Tensor) -> float:
        self._set_rate()
        self.net.train()
        loss = functional.mse_loss(self.net(images), poses)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.n_steps += 1
        self.average.follow(self.net, self.n_steps)
        return float(loss.detach())

    def _set_rate(self) -> None:
        rise, fall = min(1.0, (self.n_steps + 1) / 50), min(1.0, math.sqrt(500 / (self.n_steps + 1)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.learning_rate * rise * fall

    def _recognise(self, images: Images) -> Iterator[Recognition]:
        self._lookup.follow(self.memory)
        for start in range(0, len(images), PIECE):
            piece = images[start : start + PIECE]
            poses = look(self.average.net, to_tensor(piece), self.looks)
            if self.candidates:
                yield recognise(
                    piece, poses, self.memory, self._lookup, candidates=self.candidates, rounds=self.rounds
                )
            else:
                yield recognise_plainly(piece, poses, self.memory, self._lookup)


def _normalised(batch: Batch) -> Batch:
    return batch
