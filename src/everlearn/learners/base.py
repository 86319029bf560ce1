"""The base class of learners: declared settings and declared state."""

import inspect
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, dataclass_transform, get_type_hints

import numpy as np
import torch
from pydantic import Field, create_model
from torch import Tensor, nn

from everlearn.networks import BACKWARD, load_module, load_optimizer, module_state, n_bytes, optimizer_state
from everlearn.rng import IntArray
from everlearn.settings import Settings
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

T = TypeVar("T")
Names = tuple[str, ...]
Losses = dict[str, float | Tensor]
"""Losses by name: numbers, or tensors of one number (see `networks.devices.loss_value`)."""
State = dict[str, Any]
"""Nested dictionaries whose leaves are numpy arrays or JSON values."""

CONTEXT = ("image_shape", "seed")
"""Settings that come from the run, not from the user's settings of a learner."""


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting: its default, its meaning and its bounds.

    Example:
        >>> Learner.settings["seed"]
        Setting(default=0, description='seed of all random numbers', choices=(), bounds={'ge': 0})
    """

    default: Any
    description: str
    choices: tuple[Any, ...] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict)

    def overridden_by(self, other: "Setting") -> "Setting":
        """The same setting with another default, and whatever else a subclass declares anew."""
        return Setting(
            other.default,
            other.description or self.description,
            other.choices or self.choices,
            other.bounds or self.bounds,
        )


def setting(
    description: str = "",
    *,
    default: T,
    choices: tuple[Any, ...] = (),
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> T:
    """Declare a setting of a learner, as a class-level field with an annotation.

    The description has no period at the end; ge, gt, le and lt are bounds; an annotation such as
    Literal["a", "b"] replaces `choices`. A subclass that declares the setting again inherits whatever it
    leaves out.

    Example:
        >>> class Example(Configurable):
        ...     "An example."
        ...     n_images: int = setting("images per step", default=64, ge=1)
        >>> Example(n_images=3).n_images
        3
        >>> Example(n_images=0)
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: n_images is 0; it must be at least 1
    """
    bounds = {"ge": ge, "gt": gt, "le": le, "lt": lt}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return cast(T, Setting(default, description, choices, given))


@dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
class Configurable:
    """A class whose constructor arguments are declared with `setting`.

    The constructor checks the values, sets them as attributes and calls `setup`. Signature and the "Args"
    section of the docstring are made from the declarations.
    """

    settings: ClassVar[Mapping[str, Setting]] = {}
    """All declared settings: those of the class, then those of its bases."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherited: dict[str, Setting] = {}
        for base in cls.__mro__[1:]:
            inherited = {**inherited, **getattr(base, "settings", {}), **inherited}
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        changed = {name: inherited[name].overridden_by(own[name]) for name in inherited if name in own}
        new = {name: own[name] for name in own if name not in inherited}
        cls.settings = {**new, **inherited, **changed}
        for name in own:
            setattr(cls, name, cls.settings[name].default)
        if plain := [name for name in inherited if name in vars(cls) and name not in own]:
            raise TypeError(f"{cls.__name__}.{plain[0]} hides a setting; write setting(default=...)")
        _document(cls)

    def __init__(self, **settings: Any) -> None:
        cls: Any = type(self)
        for name, value in settings_model(cls, cls.__name__)(**settings):
            setattr(self, name, value)
        self.setup()

    def setup(self) -> None:
        """Build what the settings describe; called once, by the constructor."""


@cache
def settings_model(cls: Any, kind: str, without: tuple[str, ...] = ()) -> type[Settings]:
    """The declared settings as a pydantic model; error messages call them settings of a `kind`."""
    types = get_type_hints(cls, include_extras=True)
    fields: dict[str, Any] = {
        name: (
            Literal[each.choices] if each.choices else types[name],
            Field(each.default, description=each.description, **each.bounds),
        )
        for name, each in cls.settings.items()
        if name not in without
    }
    model: type[Settings] = create_model(cls.__name__, __base__=Settings, __module__=__name__, **fields)
    model.kind = kind
    return model


def _document(cls: type[Configurable]) -> None:
    """Give a class the signature that its settings describe, and an "Args" section in its docstring."""
    annotations: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        annotations |= inspect.get_annotations(base)
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, kind, default=each.default, annotation=annotations[name])
        for name, each in cls.settings.items()
    ]
    cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    lines = [
        textwrap.fill(
            f"{name}: {each.description} (default: {each.default!r}).",
            width=106, initial_indent=" " * 4, subsequent_indent=" " * 8,
        )
        for name, each in cls.settings.items()
    ]  # fmt: skip
    if cls.__doc__:
        cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__), "", "Args:", *lines])


@dataclass(frozen=True)
class Footprint:
    """The bytes a learner holds: of its weights, and of what it stores (images, exemplars, statistics).

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
    such, another `Stateful`, anything with `state`, `load` and `nbytes` (a replay buffer), or None.

    Modules, tensors and lists of tensors count as weights; arrays and buffers as memory; optimizers do not
    count. Counters are loaded before parts. Before the state of an optimizer is loaded, the optimizer is made
    anew by `make_optimizer` if there is such a method, since loading may replace parameters.

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

    def state(self) -> State:
        """All that is needed to continue exactly, even within a task; training on does not change it."""
        parts = {name: _state_of(getattr(self, name)) for name in self.parts}
        return {**parts, **{name: deepcopy(getattr(self, name)) for name in self.counters}}

    def load(self, state: State) -> None:
        """Continue from what `state` returned."""
        for name in self.counters:
            setattr(self, name, deepcopy(state[name]))
        for name in self.parts:
            part = getattr(self, name)
            if isinstance(part, torch.optim.Optimizer) and hasattr(self, "make_optimizer"):
                part = self.make_optimizer()
            setattr(self, name, _loaded(part, state[name]))
        self.on_load()

    def to(self, device: torch.device) -> Self:
        """Move all parts to a device; they are built on the CPU, so that a seed means the same weights."""
        for name in self.parts:
            setattr(self, name, _moved(getattr(self, name), device))
        return self

    def on_load(self) -> None:
        """Recompute what depends on the state; called after `load`."""

    def footprint(self) -> Footprint:
        """The bytes held right now."""
        return sum((_footprint_of(getattr(self, name)) for name in self.parts), Footprint())


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
    """The part with a state: the same object where it can change, else a new one."""
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
    """The part on a device: the same object where it can change, else a new one."""
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


class Learner(Configurable, Stateful, ABC):
    """A method that learns a stream task by task.

    Required: `learn` from a batch and `predict` labels. Optional: `begin` and `end` of a task. Settings are
    declared with `setting`; `setup` builds what they describe; `parts` and `counters` declare the state.
    Saving, loading, the footprint, validation and the command line follow from these declarations.

    All randomness comes from `everlearn.rng` or a generator seeded by (seed, a counter in the state), so
    that a learner that was saved and loaded continues exactly as if it had not been interrupted.

    Example:
        >>> class LatestLabel(Learner):
        ...     "Predicts the label that it saw last."
        ...     counters, label = ("label",), -1
        ...     def learn(self, batch):
        ...         self.label = int(batch.labels[-1])
        ...         return {"loss": 0.0}
        ...     def predict(self, images, tasks=None):
        ...         return np.full(len(images), self.label)
        >>> learner, images = LatestLabel(image_shape=(8, 8)), np.zeros((2, 8, 8), np.uint8)
        >>> losses = learner.learn(Batch(images, np.array([4, 7])))
        >>> learner.predict(images), learner.state()
        (array([7, 7]), {'flops': 0.0, 'label': 7})
    """

    image_shape: tuple[int, ...] = setting("(H, W) or (H, W, 3) of the images", default=(64, 64))
    seed: int = setting("seed of all random numbers", default=0, ge=0)

    counters: ClassVar[Names] = ("flops",)

    supervision = "labelled images"
    """What a learner with these settings is trained on, for tables: factor labels, exemplars, past images."""

    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The components of the method, and the settings that switch each off; for `everlearn ablate`."""

    is_classifier: ClassVar[bool] = True
    """Whether it learns labels; what others learn is read from their latents by probes."""

    supports_data_parallel: ClassVar[bool] = False
    """Whether several processes can train it together."""

    tiny_settings: ClassVar[Mapping[str, Any]] = {}
    """Settings of the smallest sensible learner, for tests."""

    flops = 0.0
    """Estimated floating-point operations spent on training."""

    device = torch.device("cpu")
    """Where the parts are."""

    def to(self, device: torch.device) -> Self:
        self.device = device
        return super().to(device)

    def begin(self, task: TaskView) -> None:
        """A task starts; its training images and exemplars are available."""

    @abstractmethod
    def learn(self, batch: Batch) -> Losses:
        """Train on a batch of the current task; returns the losses."""

    def end(self, task: TaskView) -> None:
        """The task is over; consolidate."""

    @abstractmethod
    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The label of each image, -1 before anything was learned; does not change the state.

        `tasks` is given in task-incremental streams only.
        """

    def count_flops(self, n: int, forward: float, *, backward: bool = True) -> None:
        """Count n images through a network whose forward pass takes `forward` operations per image."""
        self.flops += n * forward * (1 + BACKWARD if backward else 1)

    @classmethod
    def tiny(cls, image_shape: tuple[int, ...] = (16, 16), seed: int = 0) -> Self:
        """The smallest sensible one, for tests and doctests."""
        return cls(image_shape=image_shape, seed=seed, **cls.tiny_settings)
