"""Quadratic penalties on the distance of parameters from reference values."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from everlearn.learners.stateful import Names, Stateful
from everlearn.networks import pad_to


class WeightPenalty(Stateful):
    """The sum of importance * (parameter - reference)^2 over all parameters.

    The importance of the initial reference is zero. Both count as weights: they have the size of the network
    and contain no image.

    Example:
        >>> penalty = WeightPenalty([torch.zeros(2)])
        >>> penalty.set_reference([torch.tensor([1.0, 5.0])], [torch.tensor([10.0, 1.0])])
        >>> penalty([torch.tensor([3.0, 6.0, 9.0])])
        tensor(41.)
    """

    parts: ClassVar[Names] = ("reference", "importance")

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.set_reference(parameters, [torch.zeros_like(each) for each in parameters])

    def __call__(self, parameters: Sequence[Tensor]) -> Tensor:
        """The penalty; it does not apply to rows that were added after the reference was set."""
        terms = zip(parameters, self.reference, self.importance, strict=True)
        return torch.stack([(i * (p[: len(r)] - r).square()).sum() for p, r, i in terms]).sum()

    def set_reference(self, parameters: Sequence[Tensor], importance: Sequence[Tensor]) -> None:
        """Take the current parameters as the reference."""
        self.reference = copy_of(parameters)
        self.importance = list(importance)

    def add_importance(
        self, parameters: Sequence[Tensor], importance: Sequence[Tensor], *, decay: float = 1.0
    ) -> None:
        """Importance becomes decay * importance + new; take the current parameters as the reference."""
        old = [pad_to(i, new.shape) for i, new in zip(self.importance, importance, strict=True)]
        self.set_reference(parameters, [decay * i + new for i, new in zip(old, importance, strict=True)])


class PathIntegralPenalty(WeightPenalty):
    """A quadratic penalty with the path-integral importance of synaptic intelligence.

    At every step the path integral of a parameter grows by -gradient * displacement, with the gradient of the
    loss without the penalty, and the displacement that the optimizer made. After a task its importance grows
    by path integral / (displacement over the task^2 + damping), if that is positive, up to `max_importance`.
    `strength` is the weight of the penalty in the loss.
    """

    parts: ClassVar[Names] = ("path_integral",)

    def __init__(
        self, parameters: Sequence[Tensor], strength: float, damping: float, max_importance: float = torch.inf
    ) -> None:
        super().__init__(parameters)
        self.strength, self.damping, self.max_importance = strength, damping, max_importance
        self.path_integral = [torch.zeros_like(each) for each in self.reference]

    def optimizer_step(
        self, loss: Tensor, parameters: Sequence[Tensor], optimizer: torch.optim.Optimizer
    ) -> None:
        """An optimizer step on a loss that includes strength * penalty; updates the path integral."""
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        of_penalty = torch.autograd.grad(self.strength * self(parameters), parameters)
        gradients = [
            (torch.zeros_like(p) if p.grad is None else p.grad) - g
            for p, g in zip(parameters, of_penalty, strict=True)
        ]
        before = copy_of(parameters)
        optimizer.step()
        moves = zip(self.path_integral, gradients, parameters, before, strict=True)
        self.path_integral = [pad_to(path, g.shape) - g * (new.detach() - old) for path, g, new, old in moves]

    def consolidate(self, parameters: Sequence[Tensor]) -> None:
        """Add the path integrals of a task to the importance, and reset them to zero."""
        paths = zip(parameters, self.reference, self.path_integral, strict=True)
        self.add_importance(parameters, [self._importance(p.detach(), r, path) for p, r, path in paths])
        self.importance = [each.clamp(max=self.max_importance) for each in self.importance]
        self.path_integral = [torch.zeros_like(path) for path in self.path_integral]

    def _importance(self, parameter: Tensor, reference: Tensor, path_integral: Tensor) -> Tensor:
        displacement = parameter - pad_to(reference, parameter.shape)
        return (pad_to(path_integral, parameter.shape) / (displacement.square() + self.damping)).clamp(min=0)


def copy_of(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Detached copies of tensors."""
    return [tensor.detach().clone() for tensor in tensors]
