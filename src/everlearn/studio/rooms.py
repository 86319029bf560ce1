"""What the routes of one studio work with."""

from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Query, Request

from everlearn.runs import Record
from everlearn.studio.decoder import Decoder
from everlearn.studio.drafts import Drafts
from everlearn.studio.shelf import Shelf
from everlearn.studio.sprites import WHITE, Sprite
from everlearn.studio.starting import Starter


@dataclass
class Rooms:
    """The parts of a studio that last from request to request.

    Attributes:
        shelf: the records.
        starter: starts runs.
        drafts: learners that are open, with edits that are not saved.
        decoder: opens picture files.
        is_closing: set when the server is about to end, so that nothing endless keeps it.
    """

    shelf: Shelf
    starter: Starter
    drafts: Drafts = field(default_factory=Drafts)
    decoder: Decoder = field(default_factory=Decoder)
    is_closing: bool = False

    def warm_up(self) -> None:
        """Load what the first visitor would wait for: the list, compiled code, the child that opens files."""
        self.shelf.facts()
        self.decoder.warm_up()
        for colour in (WHITE, "#ff0000"):
            for noise in (0.0, 0.1):
                Sprite(image_size=16, colour=colour, noise=noise).picture()


def _rooms(request: Request) -> Rooms:
    return cast("Rooms", request.app.state.rooms)


Here = Annotated[Rooms, Depends(_rooms)]
"""The studio that a request came to."""


def _record(rooms: Here, record: Annotated[str, Query(max_length=1000)]) -> Record:
    return rooms.shelf.open(record)


Named = Annotated[Record, Depends(_record)]
"""The record that a request names."""


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""What was sent, as it is."""
