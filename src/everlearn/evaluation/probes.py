"""Probes of latent codes: small networks that predict labels or values, and how their scores are retained.

A probe is a two-layer network trained from scratch at every evaluation (AdamW with a cosine schedule, in
numpy).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.scores import mean_without_nan
from everlearn.rng import FloatArray, IntArray, Rng, rng_at

HIDDEN_UNITS = 50
MIN_STEPS, BATCH_SIZE, LEARNING_RATE = 500, 250, 0.02
EPOCHS = 25
"""Passes over the codes, unless these are fewer than MIN_STEPS."""
WEIGHT_DECAY, MAX_WEIGHT_DECAY = 1000.0, 0.2
"""Decoupled weight decay: the first number divided by the number of codes, at most the second."""
MIN_STD = 1e-2
"""Added to the standard deviation by which codes are divided, so that constant codes stay small."""
ACCURACIES = ("object",)
"""Probed quantities that are accuracies; all others are mean squared errors, where lower is better."""

Link = Callable[[FloatArray], FloatArray]


def probe_labels(train: FloatArray, labels: npt.ArrayLike, test: FloatArray, *, seed: int = 0) -> IntArray:
    """Labels predicted from the codes `test` (m, n_codes) by a probe trained on the codes `train`."""
    known, indices = np.unique(np.asarray(labels), return_inverse=True)
    probabilities = _fit(train, np.eye(len(known))[indices], softmax, seed)(test)
    return np.asarray(known[probabilities.argmax(axis=1)], np.int64)


def probe_values(train: FloatArray, values: npt.ArrayLike, test: FloatArray, *, seed: int = 0) -> FloatArray:
    """Values (m, k) predicted from the codes `test` (m, n_codes) by a probe trained on the codes `train`."""
    targets = np.asarray(values, np.float64)
    mean, std = targets.mean(axis=0), targets.std(axis=0) + 1e-12
    return np.asarray(_fit(train, (targets - mean) / std, identity, seed)(test) * std + mean)


def softmax(logits: FloatArray) -> FloatArray:
    """Row-wise softmax."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def identity(outputs: FloatArray) -> FloatArray:
    """The outputs themselves, for regression."""
    return outputs


class ProbeNet:
    """A network with one hidden ReLU layer whose weights lie in one vector."""

    def __init__(self, n_inputs: int, n_outputs: int, rng: Rng) -> None:
        self._shapes = ((n_inputs, HIDDEN_UNITS), (HIDDEN_UNITS,), (HIDDEN_UNITS, n_outputs), (n_outputs,))
        self.weights, self._gradient = np.zeros((2, sum(map(math.prod, self._shapes))))
        self.layers, self._gradients = self.split(self.weights), self.split(self._gradient)
        scales = (math.sqrt(2 / n_inputs), math.sqrt(1 / HIDDEN_UNITS))
        for layer, scale in zip((self.layers[0], self.layers[2]), scales, strict=True):
            layer[:] = scale * rng.normal(layer.size).reshape(layer.shape)

    def split(self, vector: FloatArray) -> list[FloatArray]:
        """Views of a weight vector in the shapes of the layers."""
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        return [part.reshape(s) for part, s in zip(np.split(vector, ends[:-1]), self._shapes, strict=True)]

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """The outputs before the link."""
        first, bias, last, last_bias = self.layers
        return np.asarray(np.maximum(inputs @ first + bias, 0) @ last + last_bias)

    def gradient(self, inputs: FloatArray, targets: FloatArray, link: Link) -> FloatArray:
        """Gradient of the mean loss: cross-entropy for `softmax`, half the squared error for `identity`.

        With respect to the outputs both have the gradient prediction - target. The next call overwrites the
        returned vector.
        """
        first, bias, last, last_bias = self.layers
        hidden = np.maximum(inputs @ first + bias, 0)
        errors = (link(hidden @ last + last_bias) - targets) / len(inputs)
        hidden_errors = (errors @ last.T) * (hidden > 0)
        np.matmul(inputs.T, hidden_errors, out=self._gradients[0])
        hidden_errors.sum(axis=0, out=self._gradients[1])
        np.matmul(hidden.T, errors, out=self._gradients[2])
        errors.sum(axis=0, out=self._gradients[3])
        return self._gradient


def _fit(train: FloatArray, targets: FloatArray, link: Link, seed: int) -> Link:
    """The function that a ProbeNet trained on standardized codes computes, without the link."""
    codes = np.asarray(train, np.float64)
    if codes.ndim != 2 or len(codes) != len(targets) or not len(codes):
        raise BadInput(
            f"codes have shape {codes.shape} for {len(targets)} targets; give (n, n_codes) and n targets"
        )
    mean, std = codes.mean(axis=0), codes.std(axis=0) + MIN_STD
    net = ProbeNet(codes.shape[1], targets.shape[1], rng_at(seed, "probe weights"))
    _train(net, (codes - mean) / std, targets, link, rng_at(seed, "probe order"))
    return lambda test: net((np.asarray(test, np.float64) - mean) / std)


def _train(net: ProbeNet, codes: FloatArray, targets: FloatArray, link: Link, rng: Rng) -> None:
    """AdamW with the usual constants; the learning rate falls to 0 along a cosine."""
    mean, square = np.zeros((2, len(net.weights)))
    n_steps = max(MIN_STEPS, EPOCHS * len(codes) // BATCH_SIZE)
    decay = min(MAX_WEIGHT_DECAY, WEIGHT_DECAY / len(codes))
    for step, batch in zip(range(n_steps), _batches(len(codes), rng), strict=False):
        gradient = net.gradient(codes[batch], targets[batch], link)
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient * gradient - square)
        lr = LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * step / n_steps))
        size = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
        net.weights -= lr * (mean / (1 - 0.9 ** (step + 1)) / size + decay * net.weights)


def _batches(n: int, rng: Rng) -> Iterator[IntArray]:
    """Rows of shuffled batches, epoch after epoch; an incomplete last batch is dropped."""
    size = min(BATCH_SIZE, n)
    while True:
        order = rng.permutation(n)
        yield from (order[start : start + size] for start in range(0, n - size + 1, size))


class ProbeResults(NamedTuple):
    """Scores of all probes at one evaluation."""

    task: int  # task that was learned last or is being learned
    environment: str  # environment of that task
    n_batches: int | None  # number of its batches learned so far; None after the task
    results: Mapping[str, Mapping[str, float]]  # for each environment the score of each probed quantity


class Retention(NamedTuple):
    """Retention of a probe's score over a run, from the evaluations at the ends of tasks.

    "The task" is the last task of the probe's environment before the last task of the run. An environment
    that occurs in the last task only has none, since it cannot be forgotten.
    """

    final: float  # score at the end
    best: float  # best score at the end of a task
    change: float  # final score minus the score at the end of the task; NaN without such a task
    after: float  # mean score at the ends of later tasks minus the score at its end


def probe_keys(results: Sequence[ProbeResults]) -> list[tuple[str, str]]:
    """All probes as (environment, quantity)."""
    last = results[-1].results if results else {}
    return [(environment, quantity) for environment, scores in last.items() for quantity in scores]


def retention(results: Sequence[ProbeResults], environment: str, quantity: str) -> Retention:
    """Retention of one probe.

    Best and change are our definitions: those of the VASE paper are in an appendix that is not available.
    """
    better = max if quantity in ACCURACIES else min
    ends = [each for each in results if each.n_batches is None] or results
    values = [each.results[environment][quantity] for each in ends]
    own = [n for n, e in enumerate(ends) if e.environment == environment and e.task < ends[-1].task]
    if not own:
        return Retention(values[-1], better(values), math.nan, math.nan)
    at_end, later = values[own[-1]], values[own[-1] + 1 :]
    return Retention(values[-1], better(values), values[-1] - at_end, mean_without_nan(later) - at_end)


def mean_retention(results: Sequence[ProbeResults], quantity: str) -> Retention:
    """Mean retention of a quantity over the environments that can be forgotten, or over all if none can.

    NaN if no environment has the quantity.
    """
    rows = [retention(results, environment, q) for environment, q in probe_keys(results) if q == quantity]
    rows = [row for row in rows if not math.isnan(row.change)] or rows
    return Retention(*map(mean_without_nan, zip(*rows, strict=True))) if rows else Retention(*[math.nan] * 4)


def retention_measures(results: Sequence[ProbeResults]) -> Iterator[tuple[str, float]]:
    """Mean retention of objects and positions by names such as "object_change"."""
    for quantity in ("object", "position"):
        for name, value in mean_retention(results, quantity)._asdict().items():
            yield f"{quantity}_{name}", value
