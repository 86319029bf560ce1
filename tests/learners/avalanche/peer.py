"""The same network, the same first weights and the same batches, for a learner of ours and one of Avalanche.

Ours and theirs tell after every step the loss and all weights; `agree` compares them step by step.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everlearn.learners.classifier import Classifier
from everlearn.memory import Sample
from everlearn.networks.tensors import MID_GRAY
from everlearn.streams import Task, sprites
from everlearn.streams.adapters import to_avalanche

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2, n_tasks=3)
TASKS = [STREAM.task(k) for k in range(3)]
BATCH = 8
EXACT = {"rtol": 1e-4, "atol": 2e-6}
"""Sums in another order differ in the last bits of a float."""


@dataclass
class Diary:
    """What was seen after each step."""

    losses: list[float] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)

    def write(self, loss: float, weights: list[nn.Parameter]) -> None:
        self.losses.append(loss)
        self.weights.append(torch.cat([weight.detach().flatten() for weight in weights]))


def agree(ours: Diary, theirs: Diary) -> None:
    """Step by step, within what floats can hold."""
    assert len(ours.losses) == len(theirs.losses) > 0
    for step, (a, b) in enumerate(zip(ours.losses, theirs.losses, strict=True)):
        np.testing.assert_allclose(a, b, **EXACT, err_msg=f"loss of step {step}")
    for step, (x, y) in enumerate(zip(ours.weights, theirs.weights, strict=True)):
        np.testing.assert_allclose(x, y, **EXACT, err_msg=f"weights after step {step}")


def settings(**changed: Any) -> dict[str, Any]:
    """A network without batch normalisation, plain descent; some settings of the method's own."""
    shared = {"image_shape": (16, 16), "backbone": "mlp", "optimizer": "sgd", "learning_rate": 0.05}
    return shared | changed


def model_of(learner: Classifier) -> nn.Sequential:
    """A copy of a learner's network, for the peer."""
    return nn.Sequential(deepcopy(learner.net.backbone), deepcopy(learner.net.head))


def play_ours(learner: Classifier, tasks: list[Task] = TASKS) -> Diary:
    """Each task once, in its own order."""
    diary = Diary()
    for task in tasks:
        learner.add_labels(np.array(task.labels))
        view = task.for_learner()
        learner.begin(view)
        for batch in view.train.batches(BATCH):
            diary.write(learner.learn(batch)["loss"], learner.parameters())
        learner.end(view)
    return diary


def play_theirs(strategy: Any, tasks: list[Task] = TASKS) -> Diary:
    """The same to a strategy of Avalanche."""
    from avalanche.core import SupervisedPlugin

    diary = Diary()

    class Writer(SupervisedPlugin):
        def after_training_iteration(self, strategy: Any, **_: Any) -> None:
            diary.write(float(strategy.loss.detach()), list(strategy.model.parameters()))

    strategy.plugins.append(Writer())
    experiences = to_avalanche(STREAM, transform=lambda image: image - MID_GRAY).train_stream
    for task in tasks:
        strategy.model[1].add_labels(task.labels)
        strategy.train(experiences[task.index], shuffle=False, drop_last=False)
    return diary


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


class Told:
    """A memory that gives what it is told to: what the peer drew at the same step."""

    def __init__(self, samples: list[Sample | None]) -> None:
        self.samples = iter(samples)

    def sample(self, n: int) -> Sample:
        told = next(self.samples)
        return told if told is not None else _nothing()

    def add(self, *_: Any, **__: Any) -> None:
        """What the peer draws later is told anyway."""


def as_sample(images: Tensor, labels: Tensor, **extra: Any) -> Sample:
    """Tensors of the peer as images and labels of ours."""
    pixels = torch.round((images[:, 0] + MID_GRAY) * 255).to(torch.uint8).numpy()
    return Sample(pixels, labels.numpy().astype(np.int64), extra=extra)


def _nothing() -> Sample:
    return Sample(np.zeros((0, 16, 16), np.uint8), np.zeros(0, np.int64))
