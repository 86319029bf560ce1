"""Images of each environment of a stream, and probe scores of a learner's latents on them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from everlearn.evaluation.probes import probe_labels, probe_values
from everlearn.evaluation.samples import sample_tasks, subsample
from everlearn.factors import Factors
from everlearn.learners.capabilities import HasPosterior
from everlearn.rng import FloatArray, rng_at
from everlearn.streams import Batch, Split, Stream, Task

TRAIN_PER_TEST = 5
"""Default number of training images per test image."""
UNNAMED = "all"
"""Name of the single environment of a stream without named environments."""


@dataclass(frozen=True, eq=False)
class EnvironmentData:
    """Images of one environment: to fit probes and oracles on, and to test them on."""

    name: str
    train: Batch
    test: Batch


def environment_of(task: Task) -> str:
    """The name of the environment of a task."""
    return task.name or UNNAMED


def environment_data(
    stream: Stream, n_tasks: int, n_test: int, n_train: int | None = None
) -> list[EnvironmentData]:
    """Images of each environment among the first tasks of a stream, in order of appearance.

    Tasks without a name are one environment, represented by up to 20 of them. The default of n_train, the
    number of training images per environment, is five times n_test, taken from the validation split, which
    no learner is trained on, or from the training split if there is none.
    """
    if not stream.task(0).name:
        return [_data(UNNAMED, partial(sample_tasks, stream, n_tasks), n_test, n_train)]
    first: dict[str, Task] = {}
    for task in stream.take(n_tasks):
        first.setdefault(task.name, task)
    return [_data(name, partial(_sample_task, task), n_test, n_train) for name, task in first.items()]


def probe_scores(learner: HasPosterior, data: EnvironmentData, seed: int) -> dict[str, float]:
    """Scores of probes trained on sampled latents of a learner.

    Accuracy of "object" (the label); mean squared error of "position" (in units of half the image size),
    "scale" and "angle" (cosine and sine). Quantities that do not vary are left out.
    """
    if not len(data.train) or not len(data.test):
        return {}
    train, test = (sample_latents(learner, batch, seed, n) for n, batch in enumerate((data.train, data.test)))
    scores = {}
    if len(np.unique(data.train.labels)) > 1:
        predicted = probe_labels(train, data.train.labels, test, seed=seed)
        scores["object"] = float((predicted == data.test.labels).mean())
    if data.train.factors is not None and data.test.factors is not None:
        truth = _targets(data.test.factors)
        for name, values in _targets(data.train.factors).items():
            if (values != values[0]).any(axis=0).all():
                errors = probe_values(train, values, test, seed=seed) - truth[name]
                scores[name] = float((errors**2).mean())
    return scores


def sample_latents(learner: HasPosterior, batch: Batch, seed: int, *address: int) -> FloatArray:
    """One sample of the posterior of each image, fixed by seed and address."""
    mean, std = learner.posterior(batch.images)
    return mean + std * rng_at(seed, "probe codes", *address).normal(mean.size).reshape(mean.shape)


def _targets(factors: Factors) -> dict[str, FloatArray]:
    return {
        "position": np.stack([factors.x, factors.y], axis=1),
        "scale": factors.scale[:, None],
        "angle": np.stack([np.cos(factors.angle), np.sin(factors.angle)], axis=1),
    }


def _data(
    name: str, sample: Callable[[Split, int], Batch], n_test: int, n_train: int | None
) -> EnvironmentData:
    train = sample("val", TRAIN_PER_TEST * n_test) if n_train is None else None
    if not train:
        train = sample("train", n_train or TRAIN_PER_TEST * n_test)
    return EnvironmentData(name, train, sample("test", n_test))


def _sample_task(task: Task, split: Split, size: int) -> Batch:
    return subsample(task.split(split), size)
