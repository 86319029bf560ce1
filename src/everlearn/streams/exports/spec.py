"""The settings of a stream as an export remembers them."""

from typing import Any

from pydantic import ConfigDict

from everlearn.errors import BadInput
from everlearn.streams.kinds import from_mapping, kinds
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream


class Remembered(StreamSettings):
    """The settings of a kind of stream that is not known here.

    Somebody's own stream can be exported, and read where its code is not installed; only building it anew
    is impossible.
    """

    model_config = ConfigDict(extra="allow")

    stream: str
    """The kind."""

    def build(self) -> Stream:
        """Complain: an unknown kind cannot be built."""
        raise BadInput(f"the stream {self.stream!r} is not known here; only its exports can be loaded")

    def to_mapping(self) -> dict[str, Any]:
        """The settings as they were written."""
        return self.model_dump(mode="json")


def spec_from(spec: dict[str, Any]) -> StreamSettings:
    """The settings that `to_mapping` gave."""
    return from_mapping(spec) if spec.get("stream") in kinds() else Remembered(**spec)
