"""Routes of the page about learners that dream."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from everlearn.studio.dreams import OVER_TIME, dreaming, dreams, environments, imagined, over_time, sample
from everlearn.studio.pixels import colour_behind, from_canvas, png
from everlearn.studio.rooms import Body, Here, Named, saved

router = APIRouter(prefix="/api/dreams")

Number = Annotated[int, Query(ge=0, le=1_000_000)]


@router.get("/records")
def records(rooms: Here) -> dict[str, Any]:
    """The records whose learners dream and can be opened."""
    return {"records": saved(rooms, dreams)}


@router.get("")
def known(rooms: Here, record: Named) -> dict[str, Any]:
    """The environments a learner has met, and where it believed to be over time."""
    with rooms.models.of(record) as play:
        facts = environments(play)
        ground = colour_behind(sample(play, 0, 0))
    return {**facts, "ground": ground, "curves": OVER_TIME, "points": over_time(record)}


@router.get("/sample.png")
def picture(rooms: Here, record: Named, task: Number = 0, number: Number = 0) -> Response:
    """A picture of a stage, as the stream shows it."""
    with rooms.models.of(record) as play:
        return Response(png(sample(play, task, number)), media_type="image/png")


@router.post("/imagine")
def imagine(rooms: Here, record: Named, body: Body, environment: Number | None = None) -> dict[str, Any]:
    """The pixels of a canvas drawn again in every environment, and walked along each latent in one."""
    with rooms.models.of(record) as play:
        learner = dreaming(play.learner)
        return imagined(learner, from_canvas(body, learner.image_shape), environment)
