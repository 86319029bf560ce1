"""The same network, initial weights and batches for a learner of everlearn and a strategy of Avalanche.

Both record the loss and all weights after every step; `agree` compares them.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everlearn.learners.classifier import Classifier
from everlearn.memory import Sample
from everlearn.networks.backbones import MLP
from everlearn.networks.tensors import MID_GRAY
from everlearn.streams import Task, sprites
from everlearn.streams.adapters import to_avalanche

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2, n_tasks=3)
TASKS = [STREAM.task(k) for k in range(3)]
BATCH = 8
EXACT = {"rtol": 1e-4, "atol": 2e-5}
"""Sums in another order differ in the last bits of a float."""


class SmoothMLP(MLP):
    """Without ReLU: last bits decide whether one near zero passes, and so may change later steps visibly."""

    def __init__(self, image_shape: tuple[int, ...], width: int = 400) -> None:
        super().__init__(image_shape, width)
        self.dense[2] = self.dense[4] = nn.Tanh()


@dataclass
class Log:
    """Losses and weights after each step."""

    losses: list[float] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)

    def write(self, loss: float, weights: list[nn.Parameter]) -> None:
        self.losses.append(loss)
        self.weights.append(torch.cat([weight.detach().flatten() for weight in weights]))


def agree(ours: Log, theirs: Log) -> None:
    """Step by step, within what floats can hold."""
    assert len(ours.losses) == len(theirs.losses) > 0
    for step, (a, b) in enumerate(zip(ours.losses, theirs.losses, strict=True)):
        np.testing.assert_allclose(a, b, **EXACT, err_msg=f"loss of step {step}")
    for step, (x, y) in enumerate(zip(ours.weights, theirs.weights, strict=True)):
        np.testing.assert_allclose(x, y, **EXACT, err_msg=f"weights after step {step}")


def settings(**changed: Any) -> dict[str, Any]:
    """A network without batch normalisation, plain SGD; some settings of the method's own."""
    shared = {
        "image_shape": (16, 16),
        "backbone": f"{__name__}:SmoothMLP",
        "optimizer": "sgd",
        "learning_rate": 0.05,
    }
    return shared | changed


def model_of(learner: Classifier) -> nn.Sequential:
    """A copy of a learner's network, for Avalanche."""
    return nn.Sequential(deepcopy(learner.net.backbone), deepcopy(learner.net.head))


def train_ours(learner: Classifier, tasks: list[Task] = TASKS) -> Log:
    """Each task once, in its own order."""
    log = Log()
    for task in tasks:
        learner.add_labels(np.array(task.labels))
        view = task.for_learner()
        learner.begin(view)
        for batch in view.train.batches(BATCH):
            log.write(learner.learn(batch)["loss"], learner.parameters())
        learner.end(view)
    return log


def train_theirs(strategy: Any, tasks: list[Task] = TASKS) -> Log:
    """The same to a strategy of Avalanche."""
    from avalanche.core import SupervisedPlugin

    log = Log()

    class Writer(SupervisedPlugin):
        def after_training_iteration(self, strategy: Any, **_: Any) -> None:
            log.write(float(strategy.loss.detach()), list(strategy.model.parameters()))

    strategy.plugins.append(Writer())
    experiences = to_avalanche(STREAM, transform=lambda image: image - MID_GRAY).train_stream
    for task in tasks:
        strategy.model[1].add_labels(task.labels)
        strategy.train(experiences[task.index], shuffle=False, drop_last=False)
    return log


def their_settings(learner: Classifier, **optimizer: Any) -> dict[str, Any]:
    """What every strategy of Avalanche is built with, from a learner that has not learned yet."""
    model = model_of(learner)
    sgd = torch.optim.SGD(model.parameters(), lr=learner.learning_rate, **optimizer)
    return {
        "model": model,
        "optimizer": sgd,
        "criterion": nn.CrossEntropyLoss(),
        "train_mb_size": BATCH,
        "train_epochs": 1,
        "evaluator": None,
    }


class FixedSamples:
    """A buffer with fixed samples: those that Avalanche drew in the same step."""

    def __init__(self, samples: list[Sample | None]) -> None:
        self.samples = iter(samples)

    def sample(self, n: int) -> Sample:
        sample = next(self.samples)
        return sample if sample is not None else _no_sample()

    def add(self, *_: Any, **__: Any) -> None:
        """Samples are fixed."""


def as_sample(images: Tensor, labels: Tensor, **extra: Any) -> Sample:
    """Tensors of Avalanche as images and labels of ours."""
    pixels = torch.round((images[:, 0] + MID_GRAY) * 255).to(torch.uint8).numpy()
    return Sample(pixels, labels.numpy().astype(np.int64), extra=extra)


def _no_sample() -> Sample:
    return Sample(np.zeros((0, 16, 16), np.uint8), np.zeros(0, np.int64))
