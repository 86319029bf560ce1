"""Routes of the page on which a learner is shown things."""

from typing import Any

from fastapi import APIRouter, Response

from everlearn.studio.pixels import from_canvas
from everlearn.studio.recognising import recognised
from everlearn.studio.rooms import Body, Here, Named

router = APIRouter(prefix="/api")


@router.post("/recognise")
def recognise(rooms: Here, record: Named, body: Body) -> dict[str, Any]:
    """What a learner makes of the pixels of a canvas."""
    with rooms.drafts.of(record) as draft:
        return recognised(draft.learner, from_canvas(body, draft.learner.image_shape))


@router.post("/picture")
def opened(rooms: Here, body: Body) -> Response:
    """A picture file as a small PNG file of its pixels alone."""
    return Response(rooms.decoder.open(body), media_type="image/png")
