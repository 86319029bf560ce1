"""How much of what could be read from codes stays when the environment it belongs to is over."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import FloatArray, IntArray, Rng, rng_at

WIDTH = 50
"""Units between codes and answer."""
STEPS, BATCH, RATE = 500, 250, 0.02
"""Steps, codes in each of them, and Adam's first step size, which falls to 0 along a cosine."""
PASSES = 25
"""Over many codes it takes more steps: each of them is looked at so often."""
DECAY = 1000.0
"""Divided by the number of codes: the share of the step size by which weights shrink, or a few codes would be
learned by heart."""
MOST_DECAY = 0.2
"""No more than this share, however few there are."""
STILL = 1e-2
"""Standard deviation below which a code is taken to be the same for all."""

Link = Callable[[FloatArray], FloatArray]


def read_labels(lesson: FloatArray, labels: npt.ArrayLike, test: FloatArray, *, seed: int = 0) -> IntArray:
    """The labels that a probe reads from the codes `test`, once it has learned from `lesson`.

    Args:
        lesson: (n, n_codes) codes to learn from.
        labels: (n,) what they are codes of.
        test: (m, n_codes) codes to read.
        seed: decides everything that is left to chance.

    Example:
        >>> codes = rng_at(0, "docs").normal(800).reshape(400, 2)
        >>> inside = (codes**2).sum(axis=1) < 1
        >>> bool((read_labels(codes[:300], inside[:300], codes[300:]) == inside[300:]).mean() > 0.95)
        True
    """
    known, numbers = np.unique(np.asarray(labels), return_inverse=True)
    shares = _Probe(lesson, np.eye(len(known))[numbers], softmax, seed)(test)
    return np.asarray(known[shares.argmax(axis=1)], np.int64)


def read_numbers(
    lesson: FloatArray, numbers: npt.ArrayLike, test: FloatArray, *, seed: int = 0
) -> FloatArray:
    """The numbers, (m, k), that a probe reads from the codes `test`, once it has learned from `lesson`.

    Args:
        lesson: (n, n_codes) codes to learn from.
        numbers: (n, k) what they say.
        test: (m, n_codes) codes to read.
        seed: decides everything that is left to chance.

    Example:
        >>> codes = rng_at(0, "docs").normal(800).reshape(400, 2)
        >>> squares = codes[:, :1] ** 2
        >>> float(np.abs(read_numbers(codes[:300], squares[:300], codes[300:]) - squares[300:]).mean()) < 0.1
        True
    """
    targets = np.asarray(numbers, np.float64)
    middle, spread = targets.mean(axis=0), targets.std(axis=0) + 1e-12
    return np.asarray(_Probe(lesson, (targets - middle) / spread, identity, seed)(test) * spread + middle)


def softmax(scores: FloatArray) -> FloatArray:
    """Shares that add up to 1 in every row."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def identity(scores: FloatArray) -> FloatArray:
    """The numbers themselves."""
    return scores


class Layers:
    """A layer of units that are silent below 0, and one of answers; all weights lie in one vector.

    Args:
        n_codes: numbers that come in.
        n_answers: numbers that come out.
        rng: where the first weights come from.
    """

    def __init__(self, n_codes: int, n_answers: int, rng: Rng) -> None:
        self._shapes = ((n_codes, WIDTH), (WIDTH,), (WIDTH, n_answers), (n_answers,))
        self.weights, self._slope = np.zeros((2, sum(map(math.prod, self._shapes))))
        self.parts, self._slopes = self.parted(self.weights), self.parted(self._slope)
        for part, size in ((self.parts[0], math.sqrt(2 / n_codes)), (self.parts[2], math.sqrt(1 / WIDTH))):
            part[:] = size * rng.normal(part.size).reshape(part.shape)

    def parted(self, vector: FloatArray) -> list[FloatArray]:
        """A vector as long as the weights, seen in the shapes of the layers."""
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        return [part.reshape(s) for part, s in zip(np.split(vector, ends[:-1]), self._shapes, strict=True)]

    def __call__(self, codes: FloatArray) -> FloatArray:
        """The answers, before any link."""
        first, bias, last, last_bias = self.parts
        return np.asarray(np.maximum(codes @ first + bias, 0) @ last + last_bias)

    def slope(self, codes: FloatArray, targets: FloatArray, link: Link) -> FloatArray:
        """The gradient of the mean loss: cross entropy for `softmax`, half the squared error for `identity`.

        Both have the same slope at the answers: what was said less what was wanted. The next call overwrites
        what is given.
        """
        first, bias, last, last_bias = self.parts
        units = np.maximum(codes @ first + bias, 0)
        missed = (link(units @ last + last_bias) - targets) / len(codes)
        behind = (missed @ last.T) * (units > 0)
        np.matmul(codes.T, behind, out=self._slopes[0])
        behind.sum(axis=0, out=self._slopes[1])
        np.matmul(units.T, missed, out=self._slopes[2])
        missed.sum(axis=0, out=self._slopes[3])
        return self._slope


class _Probe:
    """Layers that have learned targets from codes, which they see centred and of one size."""

    def __init__(self, lesson: FloatArray, targets: FloatArray, link: Link, seed: int) -> None:
        codes = np.asarray(lesson, np.float64)
        if codes.ndim != 2 or len(codes) != len(targets) or not len(codes):
            raise BadInput(
                f"codes have shape {codes.shape} for {len(targets)} truths; give (n, n_codes), one truth each"
            )
        self._middle, self._spread = codes.mean(axis=0), codes.std(axis=0) + STILL
        self._layers = Layers(codes.shape[1], targets.shape[1], rng_at(seed, "probe weights"))
        self._learn((codes - self._middle) / self._spread, targets, link, rng_at(seed, "probe order"))

    def __call__(self, test: FloatArray) -> FloatArray:
        return self._layers((np.asarray(test, np.float64) - self._middle) / self._spread)

    def _learn(self, codes: FloatArray, targets: FloatArray, link: Link, rng: Rng) -> None:
        """Adam with decoupled weight decay, with its usual constants."""
        weights = self._layers.weights
        mean, square = np.zeros((2, len(weights)))
        n_steps = max(STEPS, PASSES * len(codes) // BATCH)
        decay = min(MOST_DECAY, DECAY / len(codes))
        for step, some in zip(range(n_steps), _batches(len(codes), rng), strict=False):
            slope = self._layers.slope(codes[some], targets[some], link)
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            rate = RATE * 0.5 * (1 + math.cos(math.pi * step / n_steps))
            size = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
            weights -= rate * (mean / (1 - 0.9 ** (step + 1)) / size + decay * weights)


def _batches(n: int, rng: Rng) -> Iterator[IntArray]:
    """Rows of n, all of them again and again, in orders that chance decides."""
    size = min(BATCH, n)
    while True:
        order = rng.permutation(n)
        yield from (order[start : start + size] for start in range(0, n - size + 1, size))


ACCURACIES = ("object",)
"""What is read as a share of right answers; all else is a mean squared error, where less is better."""


class Probing(NamedTuple):
    """What could be read at one moment.

    Attributes:
        task: the task that was learned last, or that was being learned.
        shown: the environment that it shows.
        batch: batches of it that were learned by then; None when it was over.
        found: for each environment, how well each thing was read.
    """

    task: int
    shown: str
    batch: int | None
    found: Mapping[str, Mapping[str, float]]


class Retention(NamedTuple):
    """How well one probe does over a run.

    Attributes:
        final: at the end.
        best: at its best moment.
        change: at the end, less its best until the last stage that showed it was over.
        after: mean of all moments after that stage, less the moment at its end; NaN if none came after.
    """

    final: float
    best: float
    change: float
    after: float


def probes_of(rows: Sequence[Probing]) -> list[tuple[str, str]]:
    """Every probe there is, as environment and quantity."""
    found = rows[-1].found if rows else {}
    return [(place, quantity) for place, read in found.items() for quantity in read]


def retention(rows: Sequence[Probing], place: str, quantity: str) -> Retention:
    """What became of one probe.

    Best and change are a working definition: the paper's own is in an appendix that is not at hand.

    Example:
        >>> found = [("a", 0.5), ("a", 0.8), ("b", 0.9), ("b", 0.6)]
        >>> rows = [Probing(k, shown, None, {"a": {"object": x}}) for k, (shown, x) in enumerate(found)]
        >>> [round(each, 2) for each in retention(rows, "a", "object")]
        [0.6, 0.9, -0.2, -0.05]
    """
    better = max if quantity in ACCURACIES else min
    values = [row.found[place][quantity] for row in rows]
    last = max((row.task for row in rows if row.shown == place), default=rows[-1].task)
    until = [value for value, row in zip(values, rows, strict=True) if row.task <= last]
    later = values[len(until) :]
    after = math.fsum(later) / len(later) - until[-1] if later else math.nan
    return Retention(values[-1], better(values), values[-1] - better(until), after)


def retained(rows: Sequence[Probing], quantity: str) -> Retention:
    """The mean over all environments in which a thing is read; NaN where there is none.

    Example:
        >>> retained([], "object").best
        nan
    """
    found = [retention(rows, place, each) for place, each in probes_of(rows) if each == quantity]
    return Retention(*map(_mean, zip(*found, strict=True))) if found else Retention(*[math.nan] * 4)


def retention_measures(rows: Sequence[Probing]) -> Iterator[tuple[str, float]]:
    """What tables say of a run, by names such as "object_change"."""
    for quantity in ("object", "position"):
        for name, value in retained(rows, quantity)._asdict().items():
            yield f"{quantity}_{name}", value


def _mean(values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    return math.fsum(there) / len(there) if there else math.nan
