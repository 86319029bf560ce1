"""Base class of stream settings, and field types that several streams share."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, ValidationInfo

from everlearn.errors import BadInput
from everlearn.settings import Settings, toml_value

if TYPE_CHECKING:
    from everlearn.streams.stream import Stream

Unit = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Percent = Annotated[float, Field(ge=0, le=100)]
ImageSize = Annotated[int, Field(ge=16, le=512)]
DrawnSize = Annotated[int, Field(ge=4, le=512)]
GridSize = Annotated[int, Field(ge=1, le=1000)]
Range = dict[str, float]


def _check_factor(value: object, info: ValidationInfo) -> object:
    if isinstance(value, int | list | tuple | dict):
        return value
    expected = 'a number of values, a list of them, or {"low": ..., "high": ...}'
    raise BadInput(f"{info.field_name} is {value!r}; give {expected}")


FactorSetting = Annotated[GridSize | tuple[float, ...] | Range, BeforeValidator(_check_factor)]
"""A number of grid values, a list of values, or a range."""
ColourSetting = Annotated[
    GridSize | tuple[tuple[float, float, float], ...] | Range, BeforeValidator(_check_factor)
]
"""A number of hues (1 is white), a list of RGB colours in 0..1, or a range of hues."""
HeldOutSetting = Annotated[int, Field(ge=0)] | dict[str, tuple[float, float]]
"""A number of combinations, or a box: the lowest and the highest value of some factors."""


def check_drawn_size(drawn_size: int, image_size: int) -> None:
    """Raise if content would be larger than the image."""
    if drawn_size > image_size:
        raise BadInput(f"drawn_size is {drawn_size}, more than image_size {image_size}; reduce it")


class StreamSettings(Settings):
    """The settings of a stream; equal settings give equal pixels.

    A subclass has one documented field per setting, the name of the stream as its `kind`, and `build`. An
    optional setting has the default None, because TOML has no null.

    Example:
        >>> from everlearn.streams import SpriteSettings, from_toml
        >>> settings = SpriteSettings(image_size=16, n_tasks=2)
        >>> settings.build()
        <sprites/class-incremental-v1: 2 tasks>
        >>> from_toml(settings.to_toml()) == settings
        True
    """

    late: ClassVar[Mapping[str, Any]] = {}
    """Settings that were added later, and their values in earlier specs; stored specs omit these values."""
    reference: ClassVar[str | None] = None
    """The import string or file of a stream that is not built in."""

    @abstractmethod
    def build(self) -> "Stream":
        """Build the stream."""

    def to_mapping(self) -> dict[str, Any]:
        """The settings as a dictionary, with the name of the stream under "stream"."""
        return {"stream": self.reference or self.kind, **self.model_dump(mode="json")}

    def to_stored(self) -> dict[str, Any]:
        """The settings for records and exports: without values of `late`, so that specs keep their hash."""
        late = self.late.items()
        return {name: value for name, value in self.to_mapping().items() if (name, value) not in late}

    def to_json(self) -> str:
        """The settings as JSON; `everlearn.streams.from_json` reads them."""
        return json.dumps(self.to_mapping())

    def to_toml(self) -> str:
        """The settings as TOML, without None; `everlearn.streams.from_toml` reads them."""
        given = {name: value for name, value in self.to_mapping().items() if value is not None}
        return "".join(f"{name} = {toml_value(value)}\n" for name, value in given.items())
