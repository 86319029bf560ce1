"""Environment inference and latent masks: which environment a batch comes from, and which latents it uses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.capabilities import EnvironmentInfo
from everlearn.learners.stateful import Names, State, Stateful
from everlearn.learners.vase.cci_vae import Posterior, Reconstruction
from everlearn.networks import seeded
from everlearn.rng import FloatArray

if TYPE_CHECKING:
    from everlearn.learners.vase.learner import VASE

BoolArray = npt.NDArray[np.bool_]

NEW = -1
"""Index of an environment that was never met."""
MOMENTUM = 0.98
"""Weight of the previous value in a running mean."""


@dataclass
class EncodedBatch:
    """A batch and its posterior, before any weight changes.

    Attributes:
        pixels: (n, C, H, W).
        posterior: q(z | x).
        atypicality: KL of each latent's aggregate posterior over the batch to N(0, 1).
        min_nll: lower bound of the reconstruction error, which is subtracted from it.
        unmasked: 1 for latents of single images that are active whatever the mask says.
        reconstructions: by environment.
    """

    pixels: Tensor
    posterior: Posterior
    atypicality: FloatArray
    min_nll: float
    unmasked: Tensor = field(default_factory=lambda: torch.zeros(()))
    reconstructions: dict[int, Reconstruction] = field(default_factory=dict)


class Environment(Stateful):
    """Statistics of one environment.

    Attributes:
        mask: which latents are active in it.
        kl: running mean of each latent's KL to the prior.
        atypicality: running mean of each latent's aggregate-posterior KL.
        used: which latents its images are encoded by.
        capacity: C of this environment.
        nll: running mean of the reconstruction error, above its lower bound.
        n_batches: batches trained in it.
    """

    parts: ClassVar[Names] = ("mask", "kl", "atypicality", "used")
    counters: ClassVar[Names] = ("capacity", "nll", "n_batches")

    def __init__(self, n_latents: int) -> None:
        self.mask: BoolArray = np.ones(n_latents, bool)
        self.kl: FloatArray = np.zeros(n_latents)
        self.atypicality: FloatArray = np.zeros(n_latents)
        self.used: BoolArray = np.zeros(n_latents, bool)
        self.capacity = self.nll = 0.0
        self.n_batches = 0

    @property
    def informative_kl(self) -> FloatArray:
        """The KL of each latent without the part that is the same for all images."""
        return self.kl - self.atypicality

    def update(self, nll: float, kl: FloatArray, atypicality: FloatArray) -> None:
        """Add a batch to the running means; the first batches are averaged evenly."""
        rate = max(1 - MOMENTUM, 1 / (self.n_batches + 1))
        self.nll += rate * (nll - self.nll)
        self.kl = self.kl + rate * (kl - self.kl)
        self.atypicality = self.atypicality + rate * (atypicality - self.atypicality)
        self.n_batches += 1

    def info(self) -> EnvironmentInfo:
        """A copy for evaluation."""
        mask, used, kl = self.mask.copy(), self.used.copy(), self.kl.copy()
        return EnvironmentInfo(mask, used, kl, self.capacity, self.nll, self.n_batches)


class EnvironmentInference(Stateful):
    """All environments so far, the current one, and the classifier q(s | x) of `n_features` features."""

    parts: ClassVar[Names] = ("classifier",)
    counters: ClassVar[Names] = ("index", "n_before", "pending", "changes")

    def __init__(self, n_features: int, settings: "VASE") -> None:
        self.settings = settings
        with seeded(settings.seed):
            self.classifier = nn.Linear(n_features, settings.max_environments)
        self.known = [Environment(settings.n_latents)]
        self.index = 0
        self.n_before = 0  # batches of the current environment before the last change to it
        self.pending: list[int] = []  # candidates of the last batches, none of them the current environment
        self.changes: list[tuple[int, int]] = []  # (batches so far, new environment)

    @property
    def current(self) -> Environment:
        """The environment of the last batch."""
        return self.known[self.index]

    @property
    def n_since_change(self) -> int:
        """Batches trained since the last change."""
        return self.current.n_batches - self.n_before

    def probabilities(self, features: Tensor) -> Tensor:
        """q(s | x) of the known environments, (n, n_known); the encoder receives no gradient."""
        probabilities: Tensor = self.classifier(features.detach()).softmax(1)
        return probabilities[:, : len(self.known)]

    def classifier_loss(self, features: Tensor, environments: Tensor) -> Tensor:
        """-log q(s | x); the encoder receives no gradient."""
        if not self.settings.environment_inference:
            return torch.zeros(()).to(features)
        return functional.cross_entropy(self.classifier(features.detach()), environments)

    def candidate(self, guess: int, explains: Callable[[int], bool]) -> int:
        """The environment that a batch points to: the first one that explains it, or else `NEW`.

        The paper tests only the guess. With `test_current`, the current environment is tested too, so that a
        wrong guess does not declare a new one; within the cooldown it is tested first, since the classifier
        has not learned it yet.
        """
        cooling_down = self.n_since_change < self.settings.cooldown
        tested = (self.index, guess) if cooling_down else (guess, self.index)
        for index in tested if self.settings.test_current else (guess,):
            if explains(index):
                return index
        if cooling_down:
            return self.index
        return NEW if len(self.known) < self.settings.max_environments else guess

    def confirm(self, candidate: int, n_batches: int) -> int | None:
        """The environment to train in; None while a change is pending.

        After `patience` candidates in a row the most frequent one wins; ties go to the latest known one.
        """
        if candidate == self.index:
            self.pending = []
            return self.index
        self.pending.append(candidate)
        if len(self.pending) < self.settings.patience:
            return None
        self.index = max(self.pending, key=lambda index: (self.pending.count(index), index))
        if self.index == NEW:
            self.index = len(self.known)
            self.known.append(Environment(self.settings.n_latents))
        self.n_before, self.pending = self.current.n_batches, []
        self.changes.append((n_batches, self.index))
        return self.index

    def mask(self, atypicality: FloatArray, previous: BoolArray) -> BoolArray:
        """Active latents: typical ones; those between the two thresholds keep their previous state."""
        low, high = self.settings.mask_low, self.settings.mask_high
        return np.asarray((atypicality < low) | (previous & (atypicality <= high)))

    def mask_differs(self, index: int, atypicality: FloatArray) -> bool:
        """Whether a batch changes the mask of a latent that an environment uses.

        An active latent is compared with its mean atypicality in that environment.
        """
        known = self.known[index]
        excess = atypicality - np.where(known.mask, known.atypicality, 0)
        flipped = self.mask(excess, known.mask) != known.mask
        return bool((flipped & known.used).any())

    def used_elsewhere(self) -> BoolArray:
        """The latents that any other environment uses, which must not be overwritten."""
        others = [known.used for index, known in enumerate(self.known) if index != self.index]
        return np.asarray(np.any([*others, np.zeros(self.settings.n_latents, bool)], axis=0))

    def state(self) -> State:
        known = {str(index): each.state() for index, each in enumerate(self.known)}
        return {**super().state(), "known": known}

    def load(self, state: State) -> None:
        super().load(state)
        self.changes = [(n_batches, index) for n_batches, index in self.changes]
        self.known = [Environment(self.settings.n_latents) for _ in state["known"]]
        for index, known in enumerate(self.known):
            known.load(state["known"][str(index)])
