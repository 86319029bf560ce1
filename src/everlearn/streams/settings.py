"""The settings of a stream: one frozen record, to and from JSON and TOML, that builds the stream."""

import json
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from everlearn.errors import BadInput, unknown

if TYPE_CHECKING:
    from everlearn.streams.stream import Stream

_OUR_WORDS = {
    "Input should be": "it must be",
    "Unable to parse input string as an integer": "it must be a smaller number",
    "a valid ": "a ",
    "a tuple": "a list",
    "integer": "whole number",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "Tuple should have": "it must have",
    " after validation": "",
    "Field required": "a value is missing",
}


class Settings(BaseModel):
    """A frozen record of documented fields that complains in one sentence."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    kind: ClassVar[str]

    def __init__(self, **settings: Any) -> None:
        _refuse_yes_and_no(type(self), settings)
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise complaint(type(self), error.errors()) from None


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


def complaint(settings: type[Settings], errors: Iterable[ErrorDetails]) -> BadInput:
    """Pydantic's list of errors as the one sentence that helps most."""
    # Of the errors of a union, one about the value ("too small") says more than "not a list".
    error = min(errors, key=lambda each: each["type"].endswith("_type"))
    name, given = ".".join(map(str, error["loc"][:1])), error["input"]
    if error["type"] == "extra_forbidden":
        return unknown(f"{settings.kind} setting", name, settings.model_fields)
    if error["type"] == "literal_error" and isinstance(given, str):
        return unknown(
            name, given, error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        )
    if error["type"] == "value_error":
        return BadInput(str(error["ctx"]["error"]))
    if error["type"] == "tuple_type" and isinstance(usual := settings.model_fields[name].default, tuple):
        return BadInput(f"{name} is {given!r}; it must be a list, such as {json.dumps(usual)}")
    return BadInput(f"{name} is {given!r}; {_plain(error['msg'])}")


def _refuse_yes_and_no(model: type[Settings], settings: dict[str, Any]) -> None:
    """Pydantic would take true for the number 1; whoever wrote it meant something else."""
    for name, value in settings.items():
        field = model.model_fields.get(name)
        if isinstance(value, bool) and field is not None and "bool" not in str(field.annotation):
            raise BadInput(f"{name} is {value}; it is not a matter of yes or no, give a value")


def _plain(message: str) -> str:
    for theirs, ours in _OUR_WORDS.items():
        message = message.replace(theirs, ours)
    return message.split(", ")[0]


def toml_value(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
