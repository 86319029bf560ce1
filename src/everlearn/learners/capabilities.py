"""Optional capabilities of learners, as protocols over arrays, which evaluation and the studio use."""

from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.memory import ExemplarMemory
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.stream import Images


class _HasExemplarMemory(ABCMeta):
    """A runtime protocol would accept any attribute `memory`, such as a replay buffer."""

    def __instancecheck__(cls, learner: object) -> bool:
        return isinstance(getattr(learner, "memory", None), ExemplarMemory)


class EditsMemory(metaclass=_HasExemplarMemory):
    """Stores its class knowledge as exemplars that can be edited.

    Example:
        >>> from everlearn.learners import DCL, ER
        >>> isinstance(DCL.tiny(), EditsMemory), isinstance(ER.tiny(), EditsMemory)
        (True, False)
    """

    memory: ExemplarMemory


@runtime_checkable
class EstimatesFactors(Protocol):
    """Estimates the pose of the object in an image.

    Example:
        >>> class Centered:
        ...     def estimate(self, images):
        ...         return Factors.canonical(len(images))
        >>> isinstance(Centered(), EstimatesFactors)
        True
    """

    def estimate(self, images: Images) -> Factors:
        """The factors of each image."""


@runtime_checkable
class Encodes(Protocol):
    """Maps images to embeddings.

    Example:
        >>> from everlearn.learners import CCIVAE
        >>> learner = CCIVAE.tiny()
        >>> isinstance(learner, Encodes), learner.encode(np.zeros((3, 16, 16), np.uint8)).shape
        (True, (3, 24))
    """

    def encode(self, images: Images) -> FloatArray:
        """The embeddings of images, (n, n_latents)."""


@runtime_checkable
class HasPosterior(Protocol):
    """Maps images to Gaussian posteriors over latents.

    Example:
        >>> from everlearn.learners import CCIVAE
        >>> mean, std = CCIVAE.tiny().posterior(np.zeros((3, 16, 16), np.uint8))
        >>> mean.shape, bool((std > 0).all())
        ((3, 24), True)
    """

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every latent, (n, n_latents) each."""


@runtime_checkable
class Decodes(Protocol):
    """Maps latents to images.

    Example:
        >>> from everlearn.learners import CCIVAE
        >>> CCIVAE.tiny().decode(np.zeros((2, 24))).shape
        (2, 16, 16)
    """

    def decode(self, latents: FloatArray, environment: int = 0) -> FloatArray:
        """The images of latents in an environment, (n, H, W[, 3]), from 0 to 1."""


@runtime_checkable
class Generates(Encodes, Decodes, Protocol):
    """Maps images to latents and latents to images.

    Example:
        >>> from everlearn.learners import CCIVAE, DCL
        >>> isinstance(CCIVAE.tiny(), Generates), isinstance(DCL.tiny(), Generates)
        (True, False)
    """


@dataclass(frozen=True, eq=False)
class EnvironmentInfo:
    """A learner's statistics of an environment.

    Example:
        >>> from everlearn.learners import VASE
        >>> info = VASE.tiny().environment_info()[0]
        >>> info.active.shape, info.n_batches
        ((24,), 0)
    """

    active: npt.NDArray[np.bool_]  # (n_latents,) which latents are active in it
    used: npt.NDArray[np.bool_]  # (n_latents,) which latents its images are encoded by
    kl: FloatArray  # (n_latents,) mean KL of each latent to the prior
    capacity: float  # target of the KL
    nll: float  # mean reconstruction error, above its lower bound
    n_batches: int  # batches trained in it


@runtime_checkable
class InfersEnvironment(Protocol):
    """Infers the environment of images; environments are numbered in the order of their first appearance.

    Example:
        >>> from everlearn.learners import CCIVAE, VASE
        >>> isinstance(VASE.tiny(), InfersEnvironment), isinstance(CCIVAE.tiny(), InfersEnvironment)
        (True, False)
    """

    def infer_environment(self, images: Images) -> int:
        """The environment that a batch comes from; -1 for a new one."""

    def environment_probabilities(self, images: Images) -> FloatArray:
        """The probability of each environment, (n, n_environments)."""

    def environment_info(self) -> list[EnvironmentInfo]:
        """The statistics of each environment."""

    def environment_changes(self) -> list[tuple[int, int]] | None:
        """The batch number and the new environment of each change; None if inference is off.

        Training starts in environment 0.
        """


@runtime_checkable
class Rejects(Protocol):
    """Recognizes images of unknown classes.

    Example:
        >>> class RejectsDark:
        ...     def novelty(self, images):
        ...         return 255.0 - images.mean(axis=(1, 2))
        >>> isinstance(RejectsDark(), Rejects)
        True
    """

    def novelty(self, images: Images) -> npt.NDArray[np.float64]:
        """The novelty score of each image; higher is less like the known classes."""


@runtime_checkable
class MatchesExemplars(EstimatesFactors, Rejects, Protocol):
    """Predicts the class of the exemplar that fits an image best.

    Example:
        >>> from everlearn.learners import DCL, ER
        >>> isinstance(DCL.tiny(), MatchesExemplars), isinstance(ER.tiny(), MatchesExemplars)
        (True, False)
    """

    def nearest_exemplars(self, images: Images, k: int) -> tuple[IntArray, npt.NDArray[np.float64]]:
        """Rows of the memory (n, k), and squared residuals after alignment to the image (n, k)."""


@runtime_checkable
class ReplaysActivations(Protocol):
    """Replays latent activations of past classes.

    Example:
        >>> from everlearn.learners import GNR, ER
        >>> isinstance(GNR.tiny(), ReplaysActivations), isinstance(ER.tiny(), ReplaysActivations)
        (True, False)
    """

    def latent_activations(self, images: Images) -> FloatArray:
        """The activations of images at the layer that is replayed, flat, (n, n_units)."""

    def sample_replay(self, n: int) -> tuple[FloatArray, IntArray]:
        """At most n activations that the next task would replay, and their labels; changes the state."""


MISSING: dict[Any, tuple[str, str]] = {
    Decodes: ("does not decode latents to images", "vase and cci-vae"),
    EditsMemory: ("has no exemplar memory that can be edited", "dcl"),
    Encodes: ("does not map images to latents", "vase"),
    HasPosterior: ("has no posterior over latents", "vase and cci-vae"),
    InfersEnvironment: ("does not infer environments", "vase"),
    Rejects: ("has no novelty score", "dcl"),
    ReplaysActivations: ("does not replay latent activations", "gnr"),
}
"""The error for a learner without a capability, and learners that have the capability."""


def require(learner: object, *capabilities: Any) -> Any:
    """The learner itself; raises `BadInput` if it lacks one of these capabilities."""
    for capability in capabilities:
        if not isinstance(learner, capability):
            lacks, example = MISSING[capability]
            raise BadInput(f"{type(learner).__name__} {lacks}; use {example}")
    return learner


def editable_memory(learner: object) -> ExemplarMemory:
    """The exemplar memory of a learner; raises `BadInput` if it has none."""
    return require(learner, EditsMemory).memory
