"""Where patterns of the past come from: kept as they were, made up by a generator, or drawn at random."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from everlearn.learners.base import State
from everlearn.memory import Reservoir, Sample
from everlearn.rng import IntArray, Rng, rng_at
from everlearn.streams import Batch

TYPICAL = 0.9
"""Random patterns reach up to the value that so many of all real ones stay below."""


class Patterns(NamedTuple):
    """Activations (n, ...) and the head's column of each."""

    values: Tensor
    columns: Tensor


class PatternSource(ABC):
    """Patterns of classes met before, to be learned beside those of the present.

    Classes are known by their columns in the head. Everything random has an address, so that a learner that
    was saved goes on exactly.
    """

    n_weight_bytes: int = 0
    """Bytes of what makes patterns."""

    def refill(self, columns: Sequence[int], task: int) -> None:  # noqa: B027  (not all need to)
        """A task begins, after these classes were met."""

    @abstractmethod
    def sample(self, n: int, step: int) -> Patterns:
        """At most n patterns, for one step."""

    @abstractmethod
    def counts(self) -> dict[int, int]:
        """How many patterns of each class there are to be drawn."""

    @abstractmethod
    def study(self, patterns: Patterns, task: int) -> float:
        """A task is over and these were its patterns; returns the operations that it took to study them."""

    @abstractmethod
    def state(self) -> State:
        """All that sampling and studying depend on."""

    @abstractmethod
    def load(self, state: State) -> None:
        """Go on from a saved state."""

    @property
    def nbytes(self) -> int:
        """The bytes of the patterns at hand."""
        return 0


class StoredPatterns(PatternSource):
    """Patterns in a bounded memory.

    Args:
        memory_size: patterns kept in all.
        seed: decides which.
    """

    def __init__(self, *, memory_size: int, seed: int) -> None:
        self.memory = Reservoir(capacity=memory_size, seed=seed)

    def add(self, patterns: Patterns) -> None:
        """Meet patterns; keep a fair sample of all that were met."""
        columns = patterns.columns.cpu().numpy()
        no_pixels = np.zeros((len(columns), 0, 0), np.uint8)
        self.memory.add(Batch(no_pixels, columns), patterns=patterns.values.cpu().numpy())

    def sample(self, n: int, step: int) -> Patterns:
        """Different patterns out of those kept."""
        return stored(self.memory.sample(n, step))

    def counts(self) -> dict[int, int]:
        """How many patterns of each class are kept."""
        return {column: self.memory.count(column) for column in self.memory.labels()}

    @property
    def nbytes(self) -> int:
        """The bytes of the patterns kept."""
        return self.memory.nbytes

    def state(self) -> State:
        """What is kept."""
        return {"memory": self.memory.state()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self.memory.load(state["memory"])


class KeptPatterns(StoredPatterns):
    """Some of the real patterns.

    Example:
        >>> kept = KeptPatterns(memory_size=2, seed=0)
        >>> kept.study(Patterns(torch.ones(3, 4), torch.tensor([7, 7, 7])), task=0)
        0.0
        >>> kept.counts(), kept.sample(1, step=0).values.shape
        ({7: 2}, torch.Size([1, 4]))
    """

    def study(self, patterns: Patterns, task: int) -> float:
        """Keep some of them."""
        self.add(patterns)
        return 0.0


class RandomPatterns(PatternSource):
    """Patterns of even noise, from 0 to where nine of ten real activations end, under any label met before.

    RandomPatterns anew for every step; nothing is kept but how far they reach, which the first task tells.

    Args:
        shape: of one pattern.
        memory_size: how many of them a task is worth, where it is asked from how many a class was learned.
        seed: decides all of them.
    """

    def __init__(self, *, shape: tuple[int, ...], memory_size: int, seed: int) -> None:
        self.shape, self.memory_size, self.seed = shape, memory_size, seed
        self.top, self.columns = 0.0, list[int]()

    def refill(self, columns: Sequence[int], task: int) -> None:
        """Note which classes there are."""
        self.columns = list(columns)

    def sample(self, n: int, step: int) -> Patterns:
        """Noise under labels drawn evenly; none before there is a class."""
        rng = rng_at(self.seed, "random patterns", step)
        columns = evenly(self.columns, n, rng)
        size = math.prod(self.shape)
        values = rng.uniform(len(columns) * size, 0.0, self.top).astype(np.float32)
        return Patterns(
            torch.from_numpy(values.reshape(len(columns), *self.shape)), torch.from_numpy(columns)
        )

    def counts(self) -> dict[int, int]:
        """An even share for each class."""
        return {column: max(1, self.memory_size // len(self.columns)) for column in self.columns}

    def study(self, patterns: Patterns, task: int) -> float:
        """See how far real activations reach, once."""
        if not self.top:
            self.top = float(np.quantile(patterns.values.cpu().numpy(), TYPICAL))
        return 0.0

    def state(self) -> State:
        """How far patterns reach, and the classes."""
        return {"top": self.top, "columns": list(self.columns)}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self.top, self.columns = state["top"], list(state["columns"])


def evenly(columns: Sequence[int], n: int, rng: Rng) -> IntArray:
    """N of these columns, each as likely as another; none if there are none to draw from."""
    if not columns:
        return np.zeros(0, np.int64)
    return np.array(columns, np.int64)[rng.integers(n, len(columns))]


def stored(sample: Sample) -> Patterns:
    """Patterns out of a memory."""
    values = sample.extra.get("patterns", np.zeros((0, 0), np.float32))
    return Patterns(torch.from_numpy(values), torch.from_numpy(sample.labels))
