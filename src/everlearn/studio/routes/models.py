"""Routes that show images: recognition, environments, uploads and sprites."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from everlearn.reports import image_sheet
from everlearn.streams.stream import Images
from everlearn.studio import model_views as views
from everlearn.studio.dependencies import Body, Deps, OneRecord
from everlearn.studio.image_decoder import background_colour, from_canvas
from everlearn.studio.image_decoder_child import encode_png
from everlearn.studio.sprites import SHEET_COLUMNS, Sprite

router = APIRouter(prefix="/api")

Index = Annotated[int, Query(ge=0, le=1_000_000)]
SpriteQuery = Annotated[Sprite, Query()]


@router.post("/recognition")
def recognition(deps: Deps, record: OneRecord, body: Body) -> dict[str, Any]:
    """The prediction for the pixels of a canvas, and the exemplars it is based on."""
    with deps.sessions.open(record) as session:
        image = from_canvas(body, session.learner.image_shape)
        return views.recognition(session.learner, image, session.class_name)


@router.get("/environments/records")
def environment_records(deps: Deps) -> dict[str, Any]:
    """Records of learners that infer environments and have a checkpoint."""
    return {"records": deps.records.with_checkpoints(views.infers_environments)}


@router.get("/environments")
def environments(deps: Deps, record: OneRecord) -> dict[str, Any]:
    """The inferred environments, and their curves over training."""
    with deps.sessions.open(record) as session:
        table = views.environment_table(session.run)
        background = background_colour(views.task_image(session.run, 0, 0))
    logged = {"curves": views.environment_curves(record), "n_batches": views.n_batches_trained(record)}
    return {**table, "background": background, **logged}


@router.get("/environments/image.png")
def task_image(deps: Deps, record: OneRecord, task: Index = 0, index: Index = 0) -> Response:
    """A test image of a task."""
    with deps.sessions.open(record) as session:
        return _png(views.task_image(session.run, task, index))


@router.post("/environments/reconstructions")
def reconstructions(
    deps: Deps,
    record: OneRecord,
    body: Body,
    environment: Index | None = None,
    latent: Index | None = None,
    value: Annotated[float, Query(ge=-10, le=10)] = 0.0,
) -> dict[str, Any]:
    """The pixels of a canvas reconstructed in every environment, and latent traversals in one."""
    with deps.sessions.open(record) as session:
        learner = views.environment_learner(session.learner)
        image = from_canvas(body, session.learner.image_shape)
        changed = None if latent is None else (latent, value)
        return views.reconstructions(learner, image, environment, changed)


@router.post("/decode")
def decode(deps: Deps, body: Body) -> Response:
    """An image file as a small PNG file without metadata."""
    return Response(deps.decoder.decode(body), media_type="image/png")


@router.get("/sprites/image.png")
def sprite_image(sprite: SpriteQuery) -> Response:
    """One sprite."""
    return _png(sprite.image())


@router.get("/sprites/sheet.png")
def sprite_sheet(sprite: SpriteQuery) -> Response:
    """A contact sheet of 64 shapes under the same factors."""
    return _png(np.asarray(image_sheet(sprite.sheet(), columns=SHEET_COLUMNS)))


@router.get("/sprites/code")
def sprite_code(sprite: SpriteQuery) -> dict[str, Any]:
    """The code that renders a sprite, and its imports."""
    return {"imports": sprite.imports(), "code": sprite.code()}


def _png(image: Images) -> Response:
    return Response(encode_png(image), media_type="image/png")
