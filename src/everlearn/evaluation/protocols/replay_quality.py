"""Replay-quality protocol: replayed activations evaluated by classifiers that the learner does not have."""

from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import ReplaysActivations
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Stream

RIDGE = 0.1
"""Ridge penalty of the linear classifier, relative to the mean squared length of a row."""


class ReplayQualityResult(base.Result):
    """Accuracies of two classifiers on replayed and on real activations."""

    n_classes: int
    nearest_mean: float  # replayed activations that are nearest to the mean of real ones of their class
    nearest_mean_real: float  # the same for other real activations
    head: float  # real activations that a linear classifier trained on replayed ones classifies correctly
    head_real: float  # the same, trained on other real ones

    def table(self) -> base.Table:
        rows = [
            ("nearest real class mean", self.nearest_mean, self.nearest_mean_real),
            ("linear classifier trained on them", self.head, self.head_real),
        ]
        return base.Table(("accuracy", "replayed", "real"), rows)


class ReplayQuality(base.Protocol[ReplayQualityResult]):
    """Quality of the activations that a learner would replay next, by classifiers that it does not have.

    The learner's own accuracy on them is biased, since a generator is trained for it. Half of the test images
    of each class are used for class means and for training the reference, the other half for testing.
    """

    requires: ClassVar[tuple[Any, ...]] = (ReplaysActivations,)

    n_samples: Annotated[int, Field(ge=10, le=100_000)] = 1500
    """Replayed activations."""
    n_images: Annotated[int, Field(ge=10, le=base.MAX_IMAGES)] = 2000
    """Test images of all classes."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> ReplayQualityResult:
        test = stream.eval_sample(n_tasks, self.n_images)
        real = learner.latent_activations(test.images)
        with base.restored(learner):
            replayed, labels = learner.sample_replay(self.n_samples)
        is_reference = _every_second(test.labels)
        known, known_labels = real[is_reference], test.labels[is_reference]
        held_out, held_out_labels = real[~is_reference], test.labels[~is_reference]
        return ReplayQualityResult(
            n_classes=len(np.unique(known_labels)),
            nearest_mean=_accuracy(nearest_mean(known, known_labels, replayed), labels),
            nearest_mean_real=_accuracy(nearest_mean(known, known_labels, held_out), held_out_labels),
            head=_accuracy(linear_classifier(replayed, labels, held_out), held_out_labels),
            head_real=_accuracy(linear_classifier(known, known_labels, held_out), held_out_labels),
        )


def nearest_mean(rows: FloatArray, labels: IntArray, queries: FloatArray) -> IntArray:
    """The label of the nearest class mean of `rows`, for each query.

    Example:
        >>> nearest_mean(np.array([[0.0], [2.0], [9.0]]), np.array([4, 4, 7]), np.array([[3.0], [8.0]]))
        array([4, 7])
    """
    classes = np.unique(labels)
    means = np.stack([rows[labels == c].mean(axis=0) for c in classes])
    distances = (means**2).sum(axis=1) - 2 * queries @ means.T
    return np.asarray(classes[distances.argmin(axis=1)])


def linear_classifier(rows: FloatArray, labels: IntArray, queries: FloatArray) -> IntArray:
    """The labels that ridge regression on one-hot targets predicts for queries.

    Example:
        >>> linear_classifier(np.array([[0.0], [2.0], [9.0]]), np.array([4, 4, 7]), np.array([[1.0], [8.0]]))
        array([4, 7])
    """
    classes = np.unique(labels)
    targets = (labels[:, None] == classes).astype(np.float64)
    center = rows.mean(axis=0)
    kernel = (rows - center) @ (rows - center).T
    penalty = RIDGE * max(float(np.trace(kernel)) / len(rows), 1e-12) * np.eye(len(rows))
    weights = (rows - center).T @ np.linalg.solve(kernel + penalty, targets - targets.mean(axis=0))
    return np.asarray(classes[((queries - center) @ weights + targets.mean(axis=0)).argmax(axis=1)])


def _every_second(labels: IntArray) -> npt.NDArray[np.bool_]:
    """Whether a row is the first, third, ... of its label."""
    is_chosen = np.zeros(len(labels), np.bool_)
    for c in np.unique(labels):
        is_chosen[np.flatnonzero(labels == c)[::2]] = True
    return is_chosen


def _accuracy(predicted: IntArray, labels: IntArray) -> float:
    return float(np.mean(predicted == labels))
