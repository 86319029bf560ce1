"""Disentangled continual learning: learn how things move, write down what they are."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from everlearn.errors import BadInput, check_range, unknown
from everlearn.learners.base import Footprint, Losses, State
from everlearn.learners.old_base.recogniser import Recogniser
from everlearn.learners.old_base.recognition import Recognition, nearest, recognise
from everlearn.networks import (
    BACKWARD,
    flops_per_image,
    load_module,
    load_optimizer,
    module_state,
    n_bytes,
    optimizer_state,
    to_tensor,
)
from everlearn.networks.pose import (
    augment_near_canonical,
    augment_poses,
    poses_from_factors,
    without_rotation,
)
from everlearn.networks.pose_net import EMA, PoseNet, predict_poses
from everlearn.rng import Rng, rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images

SUPERVISION = ("factors", "exemplars")
RISE, FALL = 50, 500
"""The learning rate rises over the first steps and falls with the root of their number after more."""
CHECKED = 32
"""Images on which a batch is found surprising or not."""
CALM = 8
"""Batches let by unseen after one that did not surprise."""


class DCL(Recogniser):
    """A network learns how any object moves; one image per class is written into an editable memory.

    The network sees the pose of what is shown, (s cos a, s sin a, x, y), and learns it by squared error. An
    answer brings the image to the canonical frame, asks the memory for images like it, fits each of these
    candidates to the image as it was given, and names the one that fits best. Nothing particular is in the
    network, so nothing is forgotten; a class is taught with one image and erased with it.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        pose_supervision: "factors" trains on given images and their true factors; "exemplars" needs none
            and trains on exemplars that the learner moves about itself.
        backbone: "small" or "resnet18", which costs about fifty times as much.
        sight: pixels a side of what the network looks at; larger images are averaged down.
        width: channels of the small network's first layer.
        numbers: "similarity" learns the four numbers of a pose, "matrix" the six of its matrix.
        learning_rate: Adam's first step size; it falls with the root of the number of steps.
        looks: how often a pose is looked at, each time in the frame of the last; 1 looks once.
        averaging: how much of the averaged weights stays at each step; 0 answers with the newest.
        candidates: remembered images fitted to an image in doubt; 0 answers with the nearest.
        rounds: how often the memory is asked for candidates, each time with the pose fitted last.
        turns: angles tried for each image, spread over the full circle. With 1 the network sees the angle, as
            it can where things have an up; with more it learns place and size only (try 24 for characters).
        sizes: sizes tried for an image in doubt, each 9 % larger than the last; 1 trusts the size seen.
        surprise: error in pose (in half image widths) below which a batch teaches nothing; 0 learns all.
        block: side of the blocks averaged for the memory's compact codes; 1 compares images themselves.

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

    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "a small network": {"backbone": "resnet18"},
        "four numbers for a pose": {"numbers": "matrix"},
        "looking again": {"looks": 1},
        "averaging weights": {"averaging": 0.0},
        "checking before answering": {"candidates": 0},
        "asking again in doubt": {"rounds": 1},
        "trying other sizes": {"sizes": 1},
        "training when surprised": {"surprise": 0.0},
        "compact codes": {"block": 1},
    }

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        pose_supervision: str = "factors",
        backbone: str = "small",
        sight: int = 32,
        width: int = 16,
        numbers: str = "similarity",
        learning_rate: float = 1e-3,
        looks: int = 2,
        averaging: float = 0.995,
        candidates: int = 50,
        rounds: int = 3,
        turns: int = 1,
        sizes: int = 3,
        surprise: float = 0.012,
        block: int = 4,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed, block=block)
        if pose_supervision not in SUPERVISION:
            raise unknown("pose_supervision", pose_supervision, SUPERVISION)
        check_range("averaging", averaging, 0, 0.99999)
        check_range("learning_rate", learning_rate, 1e-9, 1)
        check_range("surprise", surprise, 0, math.inf)
        check_range("looks", looks, 1, 100)
        check_range("candidates", candidates, 0, 10_000)
        check_range("rounds", rounds, 1, 100)
        check_range("turns", turns, 1, 360)
        check_range("sizes", sizes, 1, 9)
        self.pose_supervision, self.learning_rate, self.surprise = pose_supervision, learning_rate, surprise
        if pose_supervision == "exemplars":
            self.supervision = "labelled images, exemplars"
        self.looks, self.candidates = looks, candidates
        self.rounds, self.turns, self.sizes = rounds, turns, sizes
        self.net = PoseNet(
            image_shape, backbone=backbone, input_size=sight, width=width, parameterization=numbers, seed=seed
        )
        self.average = EMA(self.net, averaging)
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=learning_rate, fused=True)
        self.n_steps, self.n_calm, self.error = 0, 0, 0.0
        self._flops_per_image = (1 + BACKWARD) * flops_per_image(self.net, image_shape)

    def learn(self, batch: Batch) -> Losses:
        """One step on the poses of a batch, unless they are seen well enough already."""
        self.remember_unseen(batch)
        if self.n_calm:
            self.n_calm -= 1
            return {"error": self.error, "trained": 0.0}
        images, poses = self._lesson(batch)
        if self.surprise:
            self.error = self._error(images[:CHECKED], poses[:CHECKED])
            if self.error < self.surprise:
                self.n_calm = CALM
                return {"error": self.error, "trained": 0.0}
        self.error = self._step(*self._with_near(images, poses))
        return {"error": self.error, "trained": 1.0}

    def recognise(self, images: Images) -> Recognition:
        """Look, ask the memory, and check by fitting."""
        poses = predict_poses(self.average.net, self._tensor(images), self.looks - 1).cpu()
        if not self.candidates:
            return nearest(images, poses, self.memory, self.lookup)
        return recognise(
            images,
            poses,
            self.memory,
            self.lookup,
            candidates=self.candidates,
            rounds=self.rounds,
            turns=self.turns,
            sizes=self.sizes,
        )

    def strangeness(self, found: Recognition, images: Images) -> npt.NDArray[np.float64]:
        """The share of the image that stays unexplained, less where the second best explains much less."""
        flat = images.reshape(len(images), -1, *images.shape[3:]).astype(np.float64)
        contrast = np.square(flat - flat[:, :1]).reshape(len(images), -1).sum(1)
        unexplained: npt.NDArray[np.float64] = found.misfits / np.maximum(contrast, 1.0)
        return unexplained * found.ratios

    def state(self) -> State:
        """Weights, averaged weights, optimiser, memory, counters."""
        return {
            **super().state(),
            "net": module_state(self.net),
            "average": module_state(self.average.net),
            "optimiser": optimizer_state(self.optimiser),
            "n_steps": self.n_steps,
            "n_calm": self.n_calm,
            "error": self.error,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        load_module(self.net, state["net"])
        load_module(self.average.net, state["average"])
        load_optimizer(self.optimiser, state["optimiser"])
        self.n_steps, self.n_calm, self.error = state["n_steps"], state["n_calm"], state["error"]

    def footprint(self) -> Footprint:
        """The bytes of both networks, and of the images remembered."""
        return Footprint(weights=n_bytes(self.net) + n_bytes(self.average.net), memory=self.memory.nbytes)

    def _lesson(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Images whose poses are known: given, or of our own making."""
        if self.pose_supervision == "exemplars":
            rng = self._rng("anywhere")
            rows = rng.integers(len(batch), len(self.memory))
            images, poses = augment_poses(self._tensor(self.memory.images[rows]), rng)
        elif batch.factors is not None:
            images, poses = self._tensor(batch.images), poses_from_factors(batch.factors)
        else:
            raise BadInput("these images come without factors; set pose_supervision to 'exemplars'")
        return images, self._seen(poses.to(images))

    def _with_near(self, images: Tensor, poses: Tensor) -> tuple[Tensor, Tensor]:
        """The lesson, and half of it again as it will be seen when looking again."""
        if self.looks == 1:
            return images, poses
        half = (len(images) + 1) // 2
        near, their_poses = augment_near_canonical(images[:half], poses[:half], self._rng("near"))
        return torch.cat([near, images]), torch.cat([self._seen(their_poses), poses])

    def _seen(self, poses: Tensor) -> Tensor:
        """What of a pose the network is to see."""
        return poses if self.turns == 1 else without_rotation(poses)

    def _error(self, images: Tensor, poses: Tensor) -> float:
        return float((predict_poses(self.average.net, images, self.looks - 1) - poses).abs().mean())

    def _step(self, images: Tensor, poses: Tensor) -> float:
        rate = min(1.0, (self.n_steps + 1) / RISE) * min(1.0, math.sqrt(FALL / (self.n_steps + 1)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.learning_rate * rate
        self.net.train()
        errors = self.net.errors(images, poses)
        self.optimiser.zero_grad(set_to_none=True)
        errors.square().mean().backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.n_steps += 1
        self.flops += len(images) * self._flops_per_image
        self.average.update(self.net, self.n_steps)
        self.changed()
        return float(errors.detach().abs().mean())

    def _rng(self, purpose: str) -> Rng:
        return rng_at(self.seed, f"dcl {purpose}", self.n_steps)

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, self.net.head.weight.device)
