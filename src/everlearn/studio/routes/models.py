"""Routes of the page that draws shapes."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from everlearn.reports import sheet
from everlearn.studio.dependencies import Body, Here, Named, saved
from everlearn.studio.image_decoder_child import colour_behind, from_canvas, png
from everlearn.studio.model_views import (
    OVER_TIME,
    dreaming,
    dreams,
    environments,
    imagined,
    over_time,
    recognised,
    sample,
)
from everlearn.studio.sprites import COLUMNS, Sprite

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
def image(rooms: Here, record: Named, task: Number = 0, number: Number = 0) -> Response:
    """An image of a stage, as the stream shows it."""
    with rooms.models.of(record) as play:
        return Response(png(sample(play, task, number)), media_type="image/png")


@router.post("/imagine")
def imagine(rooms: Here, record: Named, body: Body, environment: Number | None = None) -> dict[str, Any]:
    """The pixels of a canvas drawn again in every environment, and walked along each latent in one."""
    with rooms.models.of(record) as play:
        learner = dreaming(play.learner)
        return imagined(learner, from_canvas(body, play.learner.image_shape), environment)


recognition_router = APIRouter(prefix="/api")


@recognition_router.post("/recognise")
def recognise(rooms: Here, record: Named, body: Body) -> dict[str, Any]:
    """What a learner makes of the pixels of a canvas."""
    with rooms.drafts.of(record) as draft:
        return recognised(draft.learner, from_canvas(body, draft.learner.image_shape))


@recognition_router.post("/image")
def opened(rooms: Here, body: Body) -> Response:
    """An image file as a small PNG file of its pixels alone."""
    return Response(rooms.decoder.open(body), media_type="image/png")


sprites_router = APIRouter(prefix="/api/sprites")

Wanted = Annotated[Sprite, Query()]


@sprites_router.get("/image.png")
def sprite_image(sprite: Wanted) -> Response:
    """One image."""
    return Response(png(sprite.image()), media_type="image/png")


@sprites_router.get("/sheet.png")
def contact_sheet(sprite: Wanted) -> Response:
    """Sixty-four shapes in the same pose."""
    page = sheet(sprite.sheet(), columns=COLUMNS)
    return Response(png(np.asarray(page)), media_type="image/png")


@sprites_router.get("/code")
def code(sprite: Wanted) -> dict[str, Any]:
    """The line that draws the image, and what it needs."""
    return {"imports": sprite.imports(), "code": sprite.code()}
