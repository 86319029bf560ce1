"""What a user may say about a factor: types that several kinds of settings share."""

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any

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


def check_drawn(drawn_size: int, image_size: int) -> None:
    """Complain about drawings that are larger than the images they are in."""
    if drawn_size > image_size:
        raise BadInput(f"drawn_size is {drawn_size}, more than image_size {image_size}; make it smaller")


def _some_values(given: object, info: ValidationInfo) -> object:
    if isinstance(given, int | list | tuple | dict):
        return given
    wanted = 'a number of values, a list of them, or {"low": ..., "high": ...}'
    raise BadInput(f"{info.field_name} is {given!r}; give {wanted}")


Factor = Annotated[GridSize | tuple[float, ...] | Range, BeforeValidator(_some_values)]
"""A number of grid values, the values themselves, or a range."""
Colours = Annotated[GridSize | tuple[tuple[float, float, float], ...] | Range, BeforeValidator(_some_values)]
"""A number of hues (1 is white), red-green-blue colours in 0..1, or a range of hues."""
HeldOut = Annotated[int, Field(ge=0)] | dict[str, tuple[float, float]]
"""A number of combinations, or a box: the lowest and the highest value of some factors."""


class StreamSettings(Settings):
    """What makes one stream different from another of its kind; equal settings give equal pixels.

    A kind of stream is a subclass with one documented field per setting, a `kind` word, and `build`.
    A setting that may be None has None as its default, because TOML cannot write it.
    """

    @abstractmethod
    def build(self) -> "Stream":
        """The stream with these settings."""

    def to_mapping(self) -> dict[str, Any]:
        """The settings as a plain dictionary, with the kind of stream in front."""
        return {"stream": self.kind, **self.model_dump(mode="json")}

    def to_json(self) -> str:
        """The settings as JSON; `everlearn.streams.from_json` reads it back."""
        return json.dumps(self.to_mapping())

    def to_toml(self) -> str:
        """The settings as TOML, without those that are not set; `everlearn.streams.from_toml` reads it."""
        said = {name: value for name, value in self.to_mapping().items() if value is not None}
        return "".join(f"{name} = {toml_value(value)}\n" for name, value in said.items())
