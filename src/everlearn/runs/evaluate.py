"""Evaluation of a learner during a run.

Each function yields progress every few images, so that a run can be checkpointed and stopped in between.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from everlearn.evaluation import factor_errors
from everlearn.evaluation.samples import predict
from everlearn.factors import Factors
from everlearn.learners import EstimatesFactors, HasPosterior, Learner
from everlearn.rng import IntArray
from everlearn.runs.events import EvaluationProgress, Event, Probed, Scored
from everlearn.streams import Batch, Stream, Task

if TYPE_CHECKING:
    from everlearn.evaluation.environment_data import EnvironmentData

BATCH_SIZE = 128
"""Images evaluated between two progress events."""


def evaluate_seen_tasks(
    learner: Learner, stream: Stream, k: int, sample: Batch, n_batches: int | None
) -> Iterator[Event]:
    """Evaluate a classifier on a test sample of tasks 0 to k; see `Scored` for `n_batches`."""
    predictions, estimates = [np.zeros(0, np.int64)], []
    for batch in sample.batches(BATCH_SIZE):
        predictions.append(predict(learner, batch, stream))
        if isinstance(learner, EstimatesFactors) and n_batches is None:
            estimates.append(learner.estimate(batch.images))
        yield EvaluationProgress(k, sum(map(len, predictions)), len(sample))
    yield _scored(k, sample, np.concatenate(predictions), estimates, n_batches)


def evaluate_probes(
    learner: HasPosterior,
    environments: "Sequence[EnvironmentData]",
    k: int,
    *,
    environment: str,
    seed: int,
    n_batches: int | None,
) -> Iterator[Event]:
    """Fit probes to a learner's codes in every environment of the run; see `Probed`."""
    from everlearn.evaluation.environment_data import probe_scores

    results: dict[str, dict[str, float]] = {}
    for each in environments:
        results[each.name] = probe_scores(learner, each, seed)
        yield EvaluationProgress(k, len(results), len(environments))
    yield Probed(k, environment, results, n_batches)


def evaluate_zero_shot(
    learner: Learner, stream: Stream, task: Task
) -> Generator[Event, None, dict[str, float]]:
    """Accuracy on a task before training on it, and chance accuracy, for forward transfer.

    An untrained learner predicts no label, so its accuracy of 0 is not a baseline of random guessing. Chance
    accuracy is the expected accuracy of the same predictions in random order. Empty without test images.
    """
    if not len(task.test):
        return {}
    if not stream.labels_recur:
        return {"zero_shot_accuracy": 0.0}  # all labels of the task are new
    predictions = np.zeros(0, np.int64)
    for batch in task.test.batches(BATCH_SIZE):
        predictions = np.concatenate([predictions, predict(learner, batch, stream)])
        yield EvaluationProgress(task.index, len(predictions), len(task.test), before_training=True)
    accuracy = {"zero_shot_accuracy": float(np.mean(predictions == task.test.labels))}
    chance = _chance_accuracy(predictions, task.test.labels)
    return accuracy | ({"chance_accuracy": chance} if chance else {})


def _chance_accuracy(predictions: IntArray, labels: IntArray) -> float:
    """Expected accuracy over all orders of the predictions."""
    known, n_images = np.unique(labels, return_counts=True)
    n_predicted = (predictions[:, None] == known).sum(axis=0)
    return float((n_predicted * n_images).sum() / len(labels) ** 2)


def _scored(
    k: int, sample: Batch, predictions: IntArray, estimates: list[Factors], n_batches: int | None
) -> Scored:
    if sample.tasks is None:
        raise TypeError("an evaluation sample of a stream must have task indices")
    tasks, rows = np.unique(sample.tasks, return_inverse=True)
    n_correct = np.bincount(rows[predictions == sample.labels], minlength=len(tasks))
    errors: dict[str, float] = {}
    if estimates and sample.factors is not None:
        errors = factor_errors(Factors.concatenate(estimates), sample.factors)
    return Scored(
        task=k,
        eval_tasks=tuple(tasks.tolist()),
        n_correct=tuple(n_correct.tolist()),
        n_images=tuple(np.bincount(rows, minlength=len(tasks)).tolist()),
        n_batches=n_batches,
        factor_errors=errors,
    )
