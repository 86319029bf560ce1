"""Objects that live as long as the server, and parameters shared by several routes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast
from weakref import WeakValueDictionary

from fastapi import Depends, Query, Request

from everlearn.errors import BadInput
from everlearn.runs import Record
from everlearn.studio.image_decoder import ImageDecoder
from everlearn.studio.live_curves import POLL_INTERVAL, SharedCurves
from everlearn.studio.memory_editor import SessionCache
from everlearn.studio.record_index import RecordIndex
from everlearn.studio.sprites import WHITE, Sprite

MAX_RECORDS = 32
"""Records in one request."""


@dataclass
class Dependencies:
    """Objects that live as long as the server."""

    records: RecordIndex  # the index of records
    sessions: SessionCache = field(default_factory=SessionCache)  # loaded learners with unsaved edits
    decoder: ImageDecoder = field(default_factory=ImageDecoder)  # decodes uploaded images
    curves: WeakValueDictionary[Path, SharedCurves] = field(
        default_factory=WeakValueDictionary
    )  # that clients follow
    is_closing: bool = False  # set when the server stops; ends event streams

    def shared_curves(self, record: Record) -> SharedCurves:
        """The curves of a record, which all clients that follow it share."""
        shared = self.curves.get(record.folder) or SharedCurves(record, POLL_INTERVAL)
        return self.curves.setdefault(record.folder, shared)

    def warm_up(self) -> None:
        """Index records, start the decoder, and compile the renderer before the first request needs them."""
        self.records.summaries()
        self.decoder.warm_up()
        for colour in (WHITE, "#ff0000"):
            for noise in (0.0, 0.1):
                Sprite(image_size=16, colour=colour, noise=noise).image()


def _dependencies(request: Request) -> Dependencies:
    return cast("Dependencies", request.app.state.dependencies)


Deps = Annotated[Dependencies, Depends(_dependencies)]


def _record(deps: Deps, record: Annotated[str, Query(max_length=1000)]) -> Record:
    return deps.records.open(record)


OneRecord = Annotated[Record, Depends(_record)]
"""The record of the query parameter `record`."""


def _records(
    deps: Deps, record: Annotated[list[str], Query(min_length=1, max_length=MAX_RECORDS)]
) -> list[Record]:
    return [deps.records.open(name) for name in dict.fromkeys(record)]


SeveralRecords = Annotated[list[Record], Depends(_records)]
"""The records of the repeated query parameter `record`, without duplicates."""

Bound = Annotated[float | None, Query(ge=-1e9, le=1e9)]


def _task_range(low: Bound = None, high: Bound = None) -> tuple[float, float] | None:
    if low is None or high is None:
        return None
    if not low < high:
        raise BadInput(f"low is {low:g} and high is {high:g}; low must be less than high")
    return low, high


TaskRange = Annotated[tuple[float, float] | None, Depends(_task_range)]
"""The part of curves between `low` and `high` tasks; None for whole curves."""


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""The raw body of a request."""
