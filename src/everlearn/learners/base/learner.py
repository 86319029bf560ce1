"""The promise every learner makes, and the small extra powers some have."""

from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from everlearn.factors import Factors
from everlearn.memory import ExemplarMemory
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

Losses = dict[str, float]
State = dict[str, Any]
"""Nested dictionaries whose leaves are numpy arrays or plain JSON values; nothing else."""


@dataclass(frozen=True)
class Footprint:
    """The bytes a learner holds: what it learned, and what it wrote down."""

    weights: int
    memory: int = 0


class Learner(ABC):
    """Somebody who meets a stream task by task.

    Must: `learn` from a batch, `predict` labels, give its `state` and `load` it, tell its `footprint`.
    May: prepare in `begin`, conclude in `end`. Settings are keyword-only arguments of the constructor,
    each with a default and a sentence in the docstring; the command line reads them from there.

    All randomness comes from `everlearn.rng` or a generator seeded by (seed, a counter in the state),
    so that a learner that was saved and loaded goes on exactly as if it had never stopped.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
    """

    given: str = "labelled images"
    """What a learner with these settings is given, for tables: factor labels, exemplars, past images."""

    ideas: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """What the method is made of, and the settings that switch each idea off; `everlearn ablate` tries it."""

    answers: ClassVar[bool] = True
    """Whether it learns labels and so can name what it sees; what others know is read from their codes."""

    shareable: ClassVar[bool] = False
    """Whether several processes can share the work of one run, as `networks.in_shares` lets them."""

    flops: float = 0.0
    """Estimated floating-point operations spent on learning so far; whoever trains adds to it and keeps it
    in the state."""

    def __init__(self, *, image_shape: tuple[int, ...] = (64, 64), seed: int = 0) -> None:
        self.image_shape, self.seed = image_shape, seed

    def begin(self, task: TaskView) -> None:  # noqa: B027  (an optional step, not a forgotten one)
        """A task starts; its training images and exemplars can be seen."""

    @abstractmethod
    def learn(self, batch: Batch) -> Losses:
        """Learn from some images of the current task; say what it cost."""

    def end(self, task: TaskView) -> None:  # noqa: B027
        """The task is over; consolidate."""

    @abstractmethod
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The label of each image; changes nothing. `tasks` is given in task-incremental streams only.

        Before anything was learned every answer is -1.
        """

    @abstractmethod
    def state(self) -> State:
        """All that is needed to go on exactly, even inside a task: weights, memory, optimiser, counters."""

    @abstractmethod
    def load(self, state: State) -> None:
        """Take on a state that `state` gave."""

    @abstractmethod
    def footprint(self) -> Footprint:
        """The bytes held right now."""

    @classmethod
    def tiny(cls, image_shape: tuple[int, ...] = (16, 16), seed: int = 0) -> Self:
        """The smallest sensible one, for tests and doctests."""
        return cls(image_shape=image_shape, seed=seed)


class _ByWhatItKeeps(ABCMeta):
    """A runtime protocol would only ask whether there is any `memory`, and a reservoir is one too."""

    def __instancecheck__(cls, learner: object) -> bool:
        return isinstance(getattr(learner, "memory", None), ExemplarMemory)


class EditsMemory(metaclass=_ByWhatItKeeps):
    """Keeps what it knows of each class where people can see and change it."""

    memory: ExemplarMemory


@runtime_checkable
class EstimatesFactors(Protocol):
    """Can say where and how a thing is shown."""

    def estimate(self, images: Images) -> Factors:
        """The factors of each image."""


@runtime_checkable
class Encodes(Protocol):
    """Can describe images by numbers."""

    def encode(self, images: Images) -> FloatArray:
        """The codes of images, (n, n_codes)."""


@runtime_checkable
class Describes(Protocol):
    """Can describe images by Gaussians over latents."""

    def describe(self, images: Images) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every latent, (n, n_latents) each."""


@runtime_checkable
class Generates(Protocol):
    """Can draw what it has seen, and describe what is drawn."""

    def encode(self, images: Images) -> FloatArray:
        """The codes of images, (n, n_codes)."""

    def draw(self, codes: FloatArray, environment: int = 0) -> FloatArray:
        """The images of codes, (n, H, W[, 3]), in shares of white."""


@runtime_checkable
class Rejects(Protocol):
    """Can say "I do not know this"."""

    def novelty(self, images: Images) -> npt.NDArray[np.float64]:
        """How unlike everything known each image is; higher is more unlike."""
