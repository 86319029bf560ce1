"""Images of four pixels for the flat network, and softmax regression in numpy as a reference."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from everlearn.learners.classifier import Classifier
from everlearn.rng import rng_at
from everlearn.streams import Batch, Task, TaskView

FloatArray = npt.NDArray[np.float64]

FLAT: dict[str, Any] = {
    "image_shape": (2, 2), "backbone": "flat", "optimizer": "sgd", "learning_rate": 0.5,
}  # fmt: skip


def batch_of(labels: list[int], number: int = 0) -> Batch:
    """Random images with these labels."""
    n = len(labels)
    images = rng_at(3, "toy", number).integers(4 * n, 256).astype(np.uint8).reshape(n, 2, 2)
    return Batch(images, np.array(labels, np.int64))


def view_of(batch: Batch, index: int = 0) -> TaskView:
    """A task whose training images are a batch."""
    labels = tuple(sorted(set(batch.labels.tolist())))
    return Task(index, labels, lambda split: batch, lambda: batch[:0]).for_learner()


def pixels(batch: Batch) -> FloatArray:
    """The features of the flat network, (n, 4)."""
    return batch.images.reshape(len(batch), -1) / 255.0 - 0.66


def head_of(learner: Classifier) -> FloatArray:
    """Weights and bias of the labels seen so far, (n_labels, 5)."""
    head = learner.net.head
    rows = torch.cat([head.weight, head.bias[:, None]], 1)[: len(head.labels)]
    return rows.detach().double().numpy()


def set_head(learner: Classifier, rows: FloatArray) -> None:
    """Set weights and bias."""
    with torch.no_grad():
        learner.net.head.weight[: len(rows)] = torch.from_numpy(rows[:, :4])
        learner.net.head.bias[: len(rows)] = torch.from_numpy(rows[:, 4])


def some_head(n_labels: int, number: int = 0) -> FloatArray:
    """Random weights and bias, (n_labels, 5)."""
    return rng_at(4, "toy head", number).normal(5 * n_labels).reshape(n_labels, 5)


def logits_of(head: FloatArray, batch: Batch) -> FloatArray:
    """(n, n_labels)."""
    return pixels(batch) @ head[:, :4].T + head[:, 4]


def probabilities(head: FloatArray, batch: Batch) -> FloatArray:
    """(n, n_labels)."""
    powers = np.exp(logits_of(head, batch))
    return powers / powers.sum(1, keepdims=True)


def cross_entropy(head: FloatArray, batch: Batch, columns: list[int]) -> float:
    """The mean cross-entropy of a batch."""
    return float(-np.log(probabilities(head, batch)[np.arange(len(batch)), columns]).mean())


def gradients(head: FloatArray, batch: Batch, columns: list[int]) -> FloatArray:
    """The gradients of the cross-entropy of each image with respect to weights and bias, (n, n_labels, 5)."""
    wrong = probabilities(head, batch) - np.eye(len(head))[columns]
    seen = np.hstack([pixels(batch), np.ones((len(batch), 1))])
    return wrong[:, :, None] * seen[:, None, :]
