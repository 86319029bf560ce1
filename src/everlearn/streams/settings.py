"""The settings of a stream: one frozen record, to and from JSON and TOML, that builds the stream."""

import json
import tomllib
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from everlearn.errors import BadInput, unknown

if TYPE_CHECKING:
    from everlearn.streams.stream import Stream


class StreamSettings(BaseModel):
    """What makes one stream different from another of its kind; equal settings give equal pixels.

    A kind of stream is a subclass with one documented field per setting, a `kind` word, and `build`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
    kind: ClassVar[str]

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise complaint(type(self), settings, error) from None

    def build(self) -> "Stream":
        """The stream with these settings."""
        raise NotImplementedError

    def to_json(self) -> str:
        """The settings as JSON, with the kind of stream in front."""
        return json.dumps({"stream": self.kind, **self.model_dump(mode="json")})

    @classmethod
    def from_mapping(cls, settings: dict[str, Any]) -> Self:
        """The settings from a plain dictionary."""
        return cls(**settings)
