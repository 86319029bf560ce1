"""The settings of a stream as an export remembers them."""

import json
from typing import Any

from pydantic import ConfigDict

from everlearn.errors import BadInput
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream


class Remembered(StreamSettings):
    """The settings of a kind of stream that is not known here.

    Somebody's own stream can be exported, and read where its code is not installed; only building it anew
    is impossible.

    Attributes:
        stream: the kind.
    """

    model_config = ConfigDict(extra="allow")
    stream: str

    def build(self) -> Stream:
        """Complain: an unknown kind cannot be built."""
        raise BadInput(f"the stream {self.stream!r} is not known here; only its exports can be loaded")

    def to_json(self) -> str:
        """The settings as they were written."""
        return json.dumps(self.model_dump(mode="json"))


def spec_from(spec: dict[str, Any]) -> StreamSettings:
    """The settings that `json.loads(settings.to_json())` gave."""
    return Remembered(**spec)
