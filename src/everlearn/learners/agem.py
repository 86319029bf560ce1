"""Averaged gradient episodic memory (A-GEM)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from everlearn.learners.base import setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier, without_factors
from everlearn.learners.stateful import Names
from everlearn.memory import ClassBalanced
from everlearn.memory.base import MAX_CAPACITY
from everlearn.streams import TaskView


class AGEM(Classifier):
    """Averaged gradient episodic memory.

    With g the gradient on the new batch and r the gradient on a sample of the buffer: if g · r < 0, the
    update uses the projection g - (g · r / r · r) r instead of g. After each task its images enter a
    class-balanced buffer; one sample over all of it is drawn for each step, so that the cost of a step does
    not grow with the number of tasks.

    It helps little in class-incremental streams: a step that does not increase the loss on a sample, to first
    order, has far less effect than training on the sample. Adam's running means undo part of the projection;
    set optimizer to "sgd" for the published method.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = AGEM.tiny()
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> losses = learner.learn(task.train[:16])
        >>> learner.end(task)
        >>> learner.buffer  # the reference gradient of the next task is computed on it
        <ClassBalanced: 42 of at most 2000 images, 42 seen>

    Reference: Chaudhry et al. 2018, "Efficient lifelong learning with A-GEM", arXiv:1812.00420.
    """

    memory_size: int = setting("images stored in total", default=2000, ge=1, le=MAX_CAPACITY)
    replay_size: int = setting(
        "stored images that the reference gradient is computed on", default=64, ge=1, le=MAX_REPLAY
    )

    parts: ClassVar[Names] = ("buffer",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = ClassBalanced(capacity=self.memory_size, seed=self.seed)

    def optimizer_step(self, loss: Tensor) -> None:
        parameters = self.parameters()
        gradients: Sequence[Tensor] = torch.autograd.grad(loss, parameters)
        sample = self.buffer.sample(self.replay_size)
        if len(sample):
            replay_loss = self.loss(*self.tensors(sample))
            gradients = project(gradients, torch.autograd.grad(replay_loss, parameters))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        self.optim.step()

    def end(self, task: TaskView) -> None:
        self.add_labels(task.train.labels)
        self.buffer.add(without_factors(task.train))


def project(gradients: Sequence[Tensor], references: Sequence[Tensor]) -> Sequence[Tensor]:
    """The gradients without their component that opposes the reference gradients."""
    agreement = _dot(gradients, references)
    if agreement >= 0:
        return gradients
    factor = agreement / _dot(references, references)
    return [g - factor * r for g, r in zip(gradients, references, strict=True)]


def _dot(a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    return torch.stack([(x * y).sum() for x, y in zip(a, b, strict=True)]).sum()
