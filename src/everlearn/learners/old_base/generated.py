"""Patterns of the past made up by a generator, which learns from its own of the tasks before."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from everlearn.errors import check_range
from everlearn.learners.base import State
from everlearn.learners.old_base.classifier import padded_to
from everlearn.learners.old_base.descent import left_by
from everlearn.learners.old_base.patterns import Patterns, StoredPatterns, evenly, stored
from everlearn.memory import Reservoir
from everlearn.networks import (
    BACKWARD,
    load_module,
    load_optimizer,
    module_state,
    n_bytes,
    optimizer_state,
)
from everlearn.networks.generator import Generator, generation_loss
from everlearn.rng import IntArray, Rng, rng_at


class Eyes(NamedTuple):
    """How the classifier sees: frozen while the generator learns, and looked through by it.

    Attributes:
        features: patterns (n, ...) -> features (n, n_features).
        outputs: features -> (n, n_classes), by the rows that answer.
        flops: of one pattern's way to its features.
    """

    features: Callable[[Tensor], Tensor]
    outputs: Callable[[Tensor], Tensor]
    flops: float


@dataclass(frozen=True, kw_only=True)
class Practice:
    """How a generator learns.

    Attributes:
        rate: Adam's step size.
        epochs: passes over the patterns of a task.
        batch: patterns of a step, new and replayed.
        replay: of these, so many are its own of the tasks before.
        beta: weight of the codes' divergence from N(0, 1).
        eta: weight of the classifier's loss on what was made.
        wear: share of each dream's activations that are exchanged for those of other dreams.
        slowing: share of the step size that is lost as tasks go by.
    """

    rate: float
    epochs: int
    batch: int
    replay: int
    beta: float
    eta: float
    wear: float
    slowing: float = 0.0

    def __post_init__(self) -> None:
        check_range("generator_rate", self.rate, 1e-9, 1e3)
        check_range("generator_epochs", self.epochs, 1, 10_000)
        check_range("generator_batch", self.batch, 1, 65_536)
        check_range("generator_replay", self.replay, 0, self.batch - 1)
        check_range("beta", self.beta, 0, 1e6)
        check_range("eta", self.eta, 0, 1e6)
        check_range("wear", self.wear, 0, 1)


class GeneratedPatterns(StoredPatterns):
    """Patterns that a generator makes when a task begins, as many of one class met before as of another.

    When the task is over the generator learns from the task's patterns and from these, treated alike; so it
    copies its own copies, and they wear out.

    Args:
        generator: makes patterns.
        eyes: the classifier, which is not changed.
        practice: how the generator learns.
        memory_size: patterns made for a task.
        seed: decides all that is left to chance.
    """

    def __init__(
        self, *, generator: Generator, eyes: Eyes, practice: Practice, memory_size: int, seed: int
    ) -> None:
        super().__init__(memory_size=memory_size, seed=seed)
        self.generator, self.eyes, self.practice, self.seed = generator, eyes, practice, seed
        self.optimiser = self._fresh_optimiser()

    @property
    def n_weight_bytes(self) -> int:  # type: ignore[override]  # it grows
        """The bytes of the generator."""
        return n_bytes(self.generator)

    def refill(self, columns: Sequence[int], task: int) -> None:
        """Dream of these classes."""
        self.memory = Reservoir(capacity=self.memory.capacity, seed=self.seed)
        if columns:
            rng = rng_at(self.seed, "dreams", task)
            drawn = torch.from_numpy(evenly(columns, self.memory.capacity, rng)).to(self._device)
            made = self.generator.dream(self._normal(rng, len(drawn)), drawn)
            self.add(Patterns(self._worn(made, rng), drawn))

    def study(self, patterns: Patterns, task: int) -> float:
        """Learn to make these as well, and not to forget the others."""
        self._admit(int(patterns.columns.max()) + 1)
        for group in self.optimiser.param_groups:
            group["lr"] = self.practice.rate * left_by(self.practice.slowing, task)
        new = self._seen(patterns)
        old = self._seen(stored(self.memory.everything())) if len(self.memory) else new[:0]
        n_studied = sum(self._step(seen, rng) for seen, rng in self._steps(new, old, task))
        own = (1 + BACKWARD) * sum(2.0 * w.numel() for w in self.generator.parameters() if w.ndim > 1)
        return n_studied * (own + 2 * self.eyes.flops) + (len(new) + len(old)) * self.eyes.flops

    def _steps(self, new: "_Seen", old: "_Seen", task: int) -> Iterator[tuple["_Seen", Rng]]:
        n_old = min(self.practice.replay, len(old))
        size = self.practice.batch - n_old
        for epoch in range(self.practice.epochs):
            order = rng_at(self.seed, "generator order", task, epoch).permutation(len(new))
            for number in range(-(-len(new) // size)):
                rng = rng_at(self.seed, "generator step", task, epoch, number)
                mixed = new[order[number * size : (number + 1) * size]]
                yield mixed.beside(old[rng.permutation(len(old))[:n_old]]), rng

    def _step(self, seen: "_Seen", rng: Rng) -> int:
        """One step of the generator; returns the patterns in it."""
        mean, log_variance = code = self.generator.encode(seen.features)
        codes = mean + (0.5 * log_variance).exp() * self._normal(rng, len(seen))
        made = self.generator.decode(codes, seen.columns)
        outputs = self.eyes.outputs(self.eyes.features(made.relu()))
        loss = generation_loss(
            seen.values, made, code, outputs, seen.columns, beta=self.practice.beta, eta=self.practice.eta
        )
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward(inputs=list(self.generator.parameters()))  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return len(seen)

    def state(self) -> State:
        """What was dreamed of, and who dreams."""
        return {
            **super().state(),
            "generator": module_state(self.generator),
            "optimiser": optimizer_state(self.optimiser),
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.generator.make_room(len(state["generator"]["classes"]))
        load_module(self.generator, state["generator"])
        self.optimiser = self._fresh_optimiser()
        load_optimizer(self.optimiser, state["optimiser"])

    def _admit(self, n_classes: int) -> None:
        """Make room for classes; the optimiser keeps what it knows."""
        if self.generator.admit(n_classes):
            old = optimizer_state(self.optimiser)
            self.optimiser = self._fresh_optimiser()
            load_optimizer(self.optimiser, padded_to(old, list(self.generator.parameters())))

    def _worn(self, made: Tensor, rng: Rng) -> Tensor:
        """Patterns that say less of their classes, unit by unit as strong as before."""
        if not self.practice.wear:
            return made
        others = torch.from_numpy(rng.integers(made.numel(), len(made))).to(made.device)
        is_worn = torch.from_numpy(rng.uniform(made.numel()) < self.practice.wear).to(made.device)
        return torch.where(is_worn.view_as(made), made.gather(0, others.view_as(made)), made)

    def _normal(self, rng: Rng, n: int) -> Tensor:
        size = self.generator.code_size
        return torch.from_numpy(rng.normal(n * size).astype(np.float32).reshape(n, size)).to(self._device)

    @torch.no_grad()
    def _seen(self, patterns: Patterns) -> "_Seen":
        values, columns = (each.to(self._device) for each in patterns)
        return _Seen(values, columns, self.eyes.features(values))

    @property
    def _device(self) -> torch.device:
        return self.generator.classes.device

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.generator.parameters(), lr=self.practice.rate)


@dataclass(frozen=True)
class _Seen:
    """Patterns, their columns, and the features that the classifier sees in them."""

    values: Tensor
    columns: Tensor
    features: Tensor

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, rows: IntArray | slice) -> "_Seen":
        which = rows if isinstance(rows, slice) else torch.from_numpy(rows)
        return _Seen(self.values[which], self.columns[which], self.features[which])

    def beside(self, others: "_Seen") -> "_Seen":
        """These and others."""
        parts = ("values", "columns", "features")
        return _Seen(*(torch.cat([getattr(self, name), getattr(others, name)]) for name in parts))
