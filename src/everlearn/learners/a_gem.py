"""Averaged gradient episodic memory: take no step that hurts the past."""

from collections.abc import Sequence
from typing import Unpack

import torch
from torch import Tensor

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Shared
from everlearn.learners.base.rehearsal import MAX_REPLAY, Rehearsal, plain
from everlearn.memory import ClassBalanced
from everlearn.streams import TaskView

Slopes = Sequence[Tensor]


class AGEM(Rehearsal):
    """Where a step would raise the loss on remembered images, take that part out of it.

    With g the slope on the new batch and r the slope on a sample of the memory: if g · r < 0, go along
    g - (g · r / r · r) r. After each task its images enter the memory, which classes share evenly; one sample
    over all of it is drawn for each step, so a step costs the same after any number of tasks.

    Expect little in class-incremental streams: not to get worse on a sample, to first order, is far from
    rehearsing it. Adam's running means undo part of the projection; set optimiser to "sgd" to see the method
    by itself.

    Args:
        memory_size: images kept in all.
        replay_size: remembered images that a step must not hurt.

    Example:
        >>> AGEM.tiny().memory
        <ClassBalanced: 0 of at most 2000 images, 0 seen>

    Reference: Chaudhry et al. 2018, "Efficient lifelong learning with A-GEM", arXiv:1812.00420.
    """

    def __init__(self, *, memory_size: int = 2000, replay_size: int = 64, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        check_range("replay_size", replay_size, 1, MAX_REPLAY)
        self.memory = ClassBalanced(capacity=memory_size, seed=self.seed)
        self.replay_size = replay_size

    def descend(self, loss: Tensor) -> None:
        """A step that does not hurt a sample of the memory."""
        weights = self.weights()
        slopes: Slopes = torch.autograd.grad(loss, weights)
        old = self.memory.sample(self.replay_size)
        if len(old):
            slopes = projected(slopes, torch.autograd.grad(self.loss(*self.tensors(old)), weights))
        for weight, slope in zip(weights, slopes, strict=True):
            weight.grad = slope
        self.optimiser.step()

    def end(self, task: TaskView) -> None:
        """Keep images of the task."""
        self.admit(task.train.labels)
        self.memory.add(plain(task.train))


def projected(slopes: Slopes, references: Slopes) -> Slopes:
    """The slopes without what goes against the references.

    Example:
        >>> projected([torch.tensor([1.0, 1.0])], [torch.tensor([-2.0, 0.0])])
        [tensor([0., 1.])]
    """
    agreement = _dot(slopes, references)
    if agreement >= 0:
        return slopes
    share = agreement / _dot(references, references)
    return [slope - share * reference for slope, reference in zip(slopes, references, strict=True)]


def _dot(a: Slopes, b: Slopes) -> Tensor:
    return torch.stack([(x * y).sum() for x, y in zip(a, b, strict=True)]).sum()
