"""What the routes of one studio work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from fastapi import Depends, Query, Request

from everlearn.errors import BadInput
from everlearn.runs import Record
from everlearn.studio.image_decoder import Decoder
from everlearn.studio.memory_editor import Drafts, Models
from everlearn.studio.processes import Starter
from everlearn.studio.record_index import Shelf
from everlearn.studio.sprites import WHITE, Sprite


@dataclass
class Rooms:
    """The parts of a studio that last from request to request.

    Attributes:
        shelf: the records.
        starter: starts runs.
        drafts: learners that are open, with edits that are not saved.
        models: learners that are open to be looked at.
        decoder: opens image files.
        is_closing: set when the server is about to end, so that nothing endless keeps it.
    """

    shelf: Shelf
    starter: Starter
    drafts: Drafts = field(default_factory=Drafts)
    models: Models = field(default_factory=Models)
    decoder: Decoder = field(default_factory=Decoder)
    is_closing: bool = False

    def warm_up(self) -> None:
        """Load what the first visitor would wait for: the list, compiled code, the child that opens files."""
        self.shelf.facts()
        self.decoder.warm_up()
        for colour in (WHITE, "#ff0000"):
            for noise in (0.0, 0.1):
                Sprite(image_size=16, colour=colour, noise=noise).image()


def _rooms(request: Request) -> Rooms:
    return cast("Rooms", request.app.state.rooms)


Here = Annotated[Rooms, Depends(_rooms)]
"""The studio that a request came to."""


def _record(rooms: Here, record: Annotated[str, Query(max_length=1000)]) -> Record:
    return rooms.shelf.open(record)


Named = Annotated[Record, Depends(_record)]
"""The record that a request names."""


def saved(rooms: Rooms, is_wanted: Callable[[str], bool]) -> list[dict[str, Any]]:
    """The records of some learners, at a glance, that have saved what they know."""
    known = [facts for facts in rooms.shelf.facts() if not facts["error"] and is_wanted(facts["learner"])]
    return [facts for facts in known if rooms.shelf.open(facts["record"]).checkpoints.numbers()]


MOST = 32
"""Records asked about at a time."""


def _records(rooms: Here, record: Annotated[list[str], Query(min_length=1, max_length=MOST)]) -> list[Record]:
    return [rooms.shelf.open(name) for name in dict.fromkeys(record)]


Several = Annotated[list[Record], Depends(_records)]
"""The records that a request names, each once."""

Moment = Annotated[float | None, Query(ge=-1e9, le=1e9)]


def _span(low: Moment = None, high: Moment = None) -> tuple[float, float] | None:
    if low is None or high is None:
        return None
    if not low < high:
        raise BadInput(f"low is {low:g} and high is {high:g}; give the lesser number of tasks as low")
    return low, high


Span = Annotated[tuple[float, float] | None, Depends(_span)]
"""From how many tasks to how many; None for all of them."""


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""What was sent, as it is."""
