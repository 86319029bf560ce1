"""The base class of learners: declared settings and declared state."""

import inspect
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, dataclass_transform, get_type_hints

import torch
from pydantic import Field, create_model
from torch import Tensor

from everlearn.learners.stateful import Names, Stateful
from everlearn.networks import BACKWARD
from everlearn.rng import MAX_SEED, IntArray
from everlearn.settings import Settings
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

T = TypeVar("T")
Losses = dict[str, float | Tensor]
"""Losses by name: numbers, or tensors of one number (see `networks.devices.loss_value`)."""

CONTEXT = ("image_shape", "seed")
"""Settings that come from the run, not from the user's settings of a learner."""


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting: its default, its meaning and its bounds.

    Example:
        >>> Learner.settings["image_shape"]
        Setting(default=(64, 64), description='(H, W) or (H, W, 3) of the images', choices=(), bounds={})
    """

    default: Any
    description: str
    choices: tuple[Any, ...] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict)
    late: bool = field(default=False, repr=False)  # left out of specs while it has the value `before`
    before: Any = field(default=None, repr=False)  # value in specs without it; None: the default

    @property
    def unwritten(self) -> Any:
        """The value of a late setting in specs that leave it out."""
        return self.default if self.before is None else self.before

    def overridden_by(self, other: "Setting") -> "Setting":
        """The setting with the default of a subclass, and all else that the subclass declares."""
        return Setting(
            other.default,
            other.description or self.description,
            other.choices or self.choices,
            other.bounds or self.bounds,
            other.late or self.late,
            self.before if other.before is None else other.before,
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
    late: bool = False,
    before: T | None = None,
) -> T:
    """Declare a setting of a learner, as a class-level field with an annotation.

    The description has no period at the end; ge, gt, le and lt are bounds; an annotation such as
    Literal["a", "b"] replaces `choices`. A subclass that declares the setting again inherits all that it
    leaves out. A setting that is added to a published learner is `late`: earlier specs, which lack it, keep
    their hash, and have the value `before`, or the default if that is not given.

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
    return cast(T, Setting(default, description, choices, given, late, before))


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


class Learner(Configurable, Stateful, ABC):
    """A method that learns a stream task by task.

    Required: `learn` from a batch and `predict` labels. Optional: `begin` and `end` of a task. Settings are
    declared with `setting`; `setup` builds what they describe; `parts` and `counters` declare the state.
    Saving, loading, the footprint, validation and the command line follow from these declarations.

    All randomness comes from `everlearn.rng` or a generator seeded by (seed, a counter in the state), so
    that a learner that was saved and loaded continues exactly as if it had not been interrupted.

    Example:
        >>> import numpy as np
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
    seed: int = setting("seed of all random numbers", default=0, ge=0, le=MAX_SEED)

    counters: ClassVar[Names] = ("flops",)

    supervision = "labelled images"
    """The training data of a learner with these settings, for tables: "labelled images, past images"."""

    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The components of the method, and the settings that switch each off; for `everlearn ablate`."""

    is_classifier: ClassVar[bool] = True
    """Whether it learns labels; other learners are evaluated by probes of their latents."""

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
        """Prepare for a task; its training images and exemplars are available."""

    @abstractmethod
    def learn(self, batch: Batch) -> Losses:
        """Train on a batch of the current task; returns the losses."""

    def end(self, task: TaskView) -> None:
        """Finish a task, for example consolidate what was learned."""

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
        """A learner with `tiny_settings`, for tests and doctests."""
        return cls(image_shape=image_shape, seed=seed, **cls.tiny_settings)
