"""The base classes of protocols and of their results.

A protocol is one module of this package with one subclass of `Protocol` and one of `Result`. Command line,
reports and sweeps find it through the registry.
"""

import copy
import inspect
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, Unpack

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from everlearn.errors import BadInput
from everlearn.evaluation.formatting import DASH, Format, bar
from everlearn.evaluation.intervals import interval_over
from everlearn.evaluation.samples import predict
from everlearn.learners.capabilities import require
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import Bar, FigureBase, add_panels, canvas_height, draw_bars, multiline
from everlearn.serialization import image_from_json, image_to_json
from everlearn.settings import Settings
from everlearn.streams import Batch, Stream

MAX_IMAGES = 1_000_000
Progress = Callable[[float, int, str], None]
"""Called with (done, total, description)."""

NImages = Annotated[int, Field(ge=1, le=MAX_IMAGES)]
SPLIT = BeforeValidator(lambda given: given.split(",") * bool(given) if isinstance(given, str) else given)
"""Accepts a list as text with commas, as on the command line."""
ImageArray = Annotated[
    npt.NDArray[np.uint8],
    BeforeValidator(lambda given: image_from_json(given) if isinstance(given, Mapping) else given),
    PlainSerializer(image_to_json),
]
"""An image, compressed in JSON."""


class Context(typing.TypedDict, total=False):
    """Optional arguments of `Protocol.run`."""

    n_batches: Sequence[int]  # of each task in training; matches environments to those that were inferred
    learner_name: str  # in results
    progress: Progress  # called during long evaluations


class Table(NamedTuple):
    """A table of plain values: strings, numbers, None."""

    headers: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Result(BaseModel):
    """The result of a protocol, or a part of one."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", arbitrary_types_allowed=True, ser_json_inf_nan="null"
    )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The result that `to_json` wrote."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise BadInput(f"this is no {cls.__name__}: {where}: {first['msg']}; evaluate again") from None

    def table(self) -> Table:
        """The result as a table."""
        raise NotImplementedError


R = TypeVar("R", bound=Result)


class ResultGroup(NamedTuple, Generic[R]):
    """Results of runs that differ in their seeds only; none if they were not evaluated."""

    name: str
    results: Sequence[R]


Groups = Sequence[ResultGroup[R]]


class Protocol(Settings, ABC, Generic[R]):
    """An evaluation of a trained learner; the fields are its options, the docstring is its description."""

    requires: ClassVar[tuple[Any, ...]] = ()
    """Capabilities that a learner must have."""
    figures: ClassVar[Mapping[str, FigurePart[Any]]] = {}
    """Figures of groups of results, by name."""
    name: ClassVar[str]
    """Name on the command line and in records: that of the module."""
    result: ClassVar[type[Result]]
    """Type of the result."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.name = cls.kind = cls.__module__.rpartition(".")[2].replace("_", "-")
        cls.result = inspect.signature(cls._run).return_annotation

    def run(self, learner: Any, stream: Stream, n_tasks: int, **context: Unpack[Context]) -> R:
        """Evaluate a learner, which is left unchanged; raises `BadInput` if it lacks a required capability.

        Args:
            learner: the trained learner; None for protocols that need none.
            stream: the stream it was trained on.
            n_tasks: the number of tasks it was trained on.
            context: optional facts about the training; see `Context`.
        """
        if learner is not None:
            require(learner, *self.requires)
        name = type(learner).__name__
        defaults: Context = {"n_batches": (), "learner_name": name, "progress": lambda *_: None}
        return self._run(learner, stream, n_tasks, {**defaults, **context})

    @abstractmethod
    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: Context) -> R:
        """`run` for a learner that has all required capabilities, with a complete context."""


@contextmanager
def restored(learner: Any) -> Iterator[dict[str, Any]]:
    """Restore the state of a learner afterwards; yields a copy of it."""
    before = copy.deepcopy(learner.state())
    try:
        yield before
    finally:
        learner.load(before)


def accuracy(learner: Any, batch: Batch, stream: Stream | None = None) -> float:
    """Accuracy on a batch; the learner gets task ids if the stream provides them."""
    return float(np.mean(predict(learner, batch, stream) == batch.labels))


def first_results(groups: Groups[R]) -> list[tuple[str, R]]:
    """The name and the result of the first seed of each group that was evaluated."""
    return [(each.name, each.results[0]) for each in groups if each.results]


class Pair(NamedTuple):
    """A panel that compares two values of every result; values may be None."""

    values: Callable[[Any], tuple[float | None, float | None]]
    form: Format


def pairs_height(groups: Groups[R]) -> float:
    """Inches of a figure of `draw_pairs`."""
    return canvas_height(1, panel_height=0.5 + 0.34 * len(first_results(groups)))


def draw_pairs(
    figure: FigureBase, groups: Groups[R], style: FigureStyle, panels: Mapping[str, Pair], legend: str
) -> None:
    """A panel for each pair of values, with two bars for each group that was evaluated."""
    shown = {number: each for number, each in enumerate(groups) if each.results}
    all_axes = add_panels(figure, len(panels), columns=len(panels), share_y=True)
    for axes, (title, pair) in zip(all_axes, panels.items(), strict=True):
        bars = {number: _bars(pair, each.results) for number, each in shown.items()}
        draw_bars(axes, title, bars, style, full=1.0 if title == "accuracy" else None)
    all_axes[0].set_yticks(range(len(shown)), [multiline(each.name) for each in shown.values()])
    all_axes[0].invert_yaxis()
    all_axes[0].text(0, -0.04, legend, transform=all_axes[0].transAxes, va="top", fontsize=6.5)


def _bars(pair: Pair, results: Sequence[R]) -> list[Bar]:
    """Means over seeds of both values."""
    sides = zip(*map(pair.values, results), strict=True)
    return [bar(interval_over([value for value in side if value is not None]), pair.form) for side in sides]


def comma_separated(values: Sequence[object]) -> str:
    """Values in one cell of a table."""
    return ", ".join(map(str, values)) or DASH
