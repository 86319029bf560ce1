"""State of learners and their parts: saving, loading, moving and counting follow from its declaration."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from everlearn.networks import load_module, load_optimizer, module_state, n_bytes, optimizer_state

Names = tuple[str, ...]
State = dict[str, Any]
"""Nested dictionaries whose leaves are numpy arrays or JSON values."""


@dataclass(frozen=True)
class Footprint:
    """The bytes of a learner: of its weights, and of its memory (images, exemplars, statistics).

    Example:
        >>> Footprint(weights=8, memory=100) + Footprint(memory=20)
        Footprint(weights=8, memory=120)
    """

    weights: int = 0
    memory: int = 0

    def __add__(self, other: "Footprint") -> "Footprint":
        return Footprint(self.weights + other.weights, self.memory + other.memory)


class Stateful:
    """An object whose state is declared: `state`, `load`, `to` and `footprint` follow from the declaration.

    Declarations of base classes come first. A part is a module, an optimizer, a tensor, an array, a list of
    tensors, another `Stateful`, an object with `state`, `load` and `nbytes` (a replay buffer), or None.

    Modules, tensors and lists of tensors count as weights; arrays and buffers as memory; optimizers do not
    count. Counters are loaded before parts. Before the state of an optimizer is loaded, `make_optimizer`, if
    there is such a method, makes a new optimizer, since loading may replace parameters.

    Example:
        >>> class Example(Stateful):
        ...     parts, counters = ("weight",), ("n_steps",)
        ...     weight, n_steps = torch.ones(2), 0
        >>> Example().state(), Example().footprint()
        ({'weight': array([1., 1.], dtype=float32), 'n_steps': 0}, Footprint(weights=8, memory=0))
    """

    parts: ClassVar[Names] = ()
    """Names of the attributes that hold weights, buffers, optimizers and the like."""
    counters: ClassVar[Names] = ()
    """Names of the attributes that hold JSON values."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        bases = [base for base in reversed(cls.__mro__) if issubclass(base, Stateful)]
        cls.parts = tuple(dict.fromkeys(name for base in bases for name in base.parts))
        cls.counters = tuple(dict.fromkeys(name for base in bases for name in base.counters))

    @property
    def used_parts(self) -> Names:
        """Names of the parts that the settings use; others have no state."""
        return self.parts

    def state(self) -> State:
        """A copy of all that is needed to continue exactly, even within a task."""
        parts = {name: _state_of(getattr(self, name)) for name in self.used_parts}
        return {**parts, **{name: deepcopy(getattr(self, name)) for name in self.counters}}

    def load(self, state: State) -> None:
        """Continue from what `state` returned."""
        for name in self.counters:
            setattr(self, name, deepcopy(state[name]))
        for name in self.used_parts:
            part = getattr(self, name)
            if isinstance(part, torch.optim.Optimizer) and hasattr(self, "make_optimizer"):
                part = self.make_optimizer()
            setattr(self, name, _loaded(part, state[name]))
        self.on_load()

    def to(self, device: torch.device) -> Self:
        """Move all parts to a device; they are built on the CPU, so that a seed gives the same weights."""
        for name in self.used_parts:
            setattr(self, name, _moved(getattr(self, name), device))
        return self

    def on_load(self) -> None:
        """Recompute values that are derived from the state; called after `load`."""

    def footprint(self) -> Footprint:
        """The current size in bytes."""
        return sum((_footprint_of(getattr(self, name)) for name in self.used_parts), Footprint())


def _state_of(part: Any) -> Any:
    match part:
        case None:
            return None
        case torch.optim.Optimizer():
            return optimizer_state(part)
        case Tensor():
            return part.detach().cpu().numpy().copy()
        case np.ndarray():
            return part.copy()
        case list():
            return {str(i): _state_of(each) for i, each in enumerate(part)}
        case nn.Module() if not hasattr(part, "load"):
            return module_state(part)
    own: Any = part
    return own.state()


def _loaded(part: Any, state: Any) -> Any:
    """The part with a state: the same object if it is mutable, else a new one."""
    match part:
        case None:
            return None
        case torch.optim.Optimizer():
            load_optimizer(part, state)
        case Tensor():
            return torch.tensor(state, device=part.device)
        case np.ndarray():
            return np.array(state)
        case list():
            device = part[0].device if part else None
            return [torch.tensor(state[str(i)], device=device) for i in range(len(state))]
        case nn.Module() if not hasattr(part, "load"):
            load_module(part, state)
        case _:
            own: Any = part
            own.load(state)
    return part


def _moved(part: Any, device: torch.device) -> Any:
    """The part on a device: the same object if it is mutable, else a new one."""
    match part:
        case torch.optim.Optimizer():
            load_optimizer(part, optimizer_state(part))  # to the device of the weights
        case nn.Module() | Tensor() | Stateful():
            return part.to(device)
        case list():
            return [_moved(each, device) for each in part]
    return part


def _footprint_of(part: Any) -> Footprint:
    match part:
        case None | torch.optim.Optimizer():
            return Footprint()
        case nn.Module():
            return Footprint(weights=n_bytes(part))
        case Tensor():
            return Footprint(weights=part.nbytes)
        case list():
            return sum(map(_footprint_of, part), Footprint())
        case Stateful():
            return part.footprint()
        case _:
            return Footprint(memory=part.nbytes)
