"""Which environment a batch comes from: one met before, or a new one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.learners.base import State
from everlearn.rng import FloatArray

BoolArray = npt.NDArray[np.bool_]

NEW = -1
"""Stands for an environment that was never met."""
MEMORY = 0.98
"""Share of a running mean that stays when a batch comes in."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """When a batch is taken to come from elsewhere; of all of these the paper gives the idea, not the value.

    Attributes:
        kappa: a batch is new to an environment that draws it this many times worse than its own.
        low: a closed latent opens again when its atypicality falls below this.
        high: an open latent closes when its atypicality rises above this.
        patience: batches in a row that must speak for a change before it is made.
        guard: steps after an arrival during which the present environment is kept if it explains what comes,
            and no new one is found.
        settle: batches of an environment after which its mask stays as it is.
        used_nats: a latent that tells images apart by more than this on average is in use.
    """

    kappa: float = 1.5
    low: float = 0.35
    high: float = 0.5
    patience: int = 3
    guard: int = 300
    settle: int = 10
    used_nats: float = 0.1

    def __post_init__(self) -> None:
        check_range("kappa", self.kappa, 1, 1e6)
        check_range("mask_high", self.high, 0, 1e6)
        if not 0 <= self.low <= self.high:
            raise BadInput(
                f"mask_low is {self.low}; it must be between 0 and mask_high, which is {self.high}"
            )
        check_range("patience", self.patience, 1, 1000)
        check_range("guard", self.guard, 0, 1e9)
        check_range("settle", self.settle, 0, 1e9)
        check_range("used_nats", self.used_nats, 0, 1e3)

    def mask(self, atypicality: FloatArray, before: BoolArray) -> BoolArray:
        """Which latents are open: typical ones open, atypical ones close, those between stay as they were.

        Example:
            >>> Rules(low=0.3, high=0.5).mask(np.array([0.2, 0.4, 0.4, 0.6]), np.array([0, 0, 1, 1], bool))
            array([ True, False,  True, False])
        """
        return np.asarray((atypicality < self.low) | (before & (atypicality <= self.high)))


@dataclass
class Environment:
    """What is known of one environment.

    Attributes:
        mask: which latents are open in it.
        nats: running mean of what each latent says.
        atypical: running mean of how unlike N(0, 1) each latent is.
        used: which latents it uses.
        capacity: C, the nats that an image of it may be described by.
        error: running mean of how badly its images are drawn.
        n_batches: batches learned in it.
    """

    mask: BoolArray
    nats: FloatArray
    atypical: FloatArray
    used: BoolArray
    capacity: float = 0.0
    error: float = 0.0
    n_batches: int = 0

    @property
    def telling(self) -> FloatArray:
        """What each latent says to tell images apart: its nats less those that are the same for all."""
        return self.nats - self.atypical

    def note(self, error: float, nats: FloatArray, atypical: FloatArray) -> None:
        """Take a batch that was learned into the running means; the first ones count in full."""
        share = max(1 - MEMORY, 1 / (self.n_batches + 1))
        self.error += share * (error - self.error)
        self.nats = self.nats + share * (nats - self.nats)
        self.atypical = self.atypical + share * (atypical - self.atypical)
        self.n_batches += 1


class Environments:
    """All environments met so far, the present one, and the doubt whether it still is.

    Args:
        n_latents: latents that are masked.
        most: environments there is room for; when it is used up, the likeliest one is taken.
        rules: when a batch is taken to come from elsewhere.
    """

    def __init__(self, *, n_latents: int, most: int, rules: Rules) -> None:
        self.n_latents, self.most, self.rules = n_latents, most, rules
        self.known = [self._blank()]
        self.current = 0
        self.n_before = 0  # batches learned in the present environment before the last arrival there
        self.doubts: list[int] = []  # what the last batches spoke for, none of them for the present one
        self.changes: list[tuple[int, int]] = []  # after how many batches it moved, and where to

    @property
    def present(self) -> Environment:
        """The environment that the last batch was taken to come from."""
        return self.known[self.current]

    @property
    def n_since(self) -> int:
        """Batches learned since the last arrival."""
        return self.present.n_batches - self.n_before

    @property
    def spare(self) -> BoolArray:
        """The latents that no environment uses: room for what is still to come."""
        return np.asarray(~np.any([each.used for each in self.known], axis=0))

    def used_elsewhere(self) -> BoolArray:
        """The latents that any other environment uses: what must not be overwritten."""
        others = [each.used for s, each in enumerate(self.known) if s != self.current]
        return np.asarray(np.any([*others, np.zeros(self.n_latents, bool)], axis=0))

    def candidate(self, guess: int, explains: Callable[[int], bool]) -> int:
        """The environment that a batch speaks for: the first that explains it, else a new one.

        The paper asks the guess alone. That the present one is asked as well keeps a slip of the guess from
        finding a new one; after an arrival it is asked first, since the guess has not learned of it yet.
        """
        arrived = self.n_since < self.rules.guard
        for each in (self.current, guess) if arrived else (guess, self.current):
            if explains(each):
                return each
        if arrived:
            return self.current
        return NEW if len(self.known) < self.most else guess

    def settle(self, candidate: int, n_batches: int) -> int | None:
        """The environment to learn in; None while it is in doubt, when nothing should be learned.

        Of several that were spoken for, it is the one most batches spoke for, and rather one that was met.
        """
        if candidate == self.current:
            self.doubts = []
            return self.current
        self.doubts.append(candidate)
        if len(self.doubts) < self.rules.patience:
            return None
        self._move(max(self.doubts, key=lambda each: (self.doubts.count(each), each)))
        self.changes.append((n_batches, self.current))
        return self.current

    def _move(self, to: int) -> None:
        if to == NEW:
            self.known.append(self._blank())
        self.current = len(self.known) - 1 if to == NEW else to
        self.n_before, self.doubts = self.present.n_batches, []

    def differs(self, environment: int, atypical: FloatArray) -> bool:
        """Whether a batch opens or closes a latent that an environment uses.

        An open one closes by how atypical it is above what it is there as a rule.
        """
        known = self.known[environment]
        unusual = atypical - np.where(known.mask, known.atypical, 0)
        flipped = self.rules.mask(unusual, known.mask) != known.mask
        return bool((flipped & known.used).any())

    def state(self) -> State:
        """All environments, the present one and the doubt."""
        return {
            "masks": np.stack([each.mask for each in self.known]),
            "nats": np.stack([each.nats for each in self.known]),
            "atypical": np.stack([each.atypical for each in self.known]),
            "used": np.stack([each.used for each in self.known]),
            "scalars": [[each.capacity, each.error, each.n_batches] for each in self.known],
            "current": self.current,
            "n_before": self.n_before,
            "doubts": list(self.doubts),
            "changes": [list(change) for change in self.changes],
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        columns = (state[name] for name in ("masks", "nats", "atypical", "used", "scalars"))
        self.known = [_loaded(*row) for row in zip(*columns, strict=True)]
        self.current = state["current"]
        self.n_before, self.doubts = state["n_before"], list(state["doubts"])
        self.changes = [(step, environment) for step, environment in state["changes"]]

    def _blank(self) -> Environment:
        n = self.n_latents
        return Environment(np.ones(n, bool), np.zeros(n), np.zeros(n), np.zeros(n, bool))


def _loaded(mask: Any, nats: Any, atypical: Any, used: Any, scalars: list[Any]) -> Environment:
    return Environment(
        np.array(mask, bool), np.array(nats), np.array(atypical), np.array(used, bool), *scalars
    )
