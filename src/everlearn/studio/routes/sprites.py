"""Routes of the page that draws shapes."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from everlearn.reports import sheet
from everlearn.studio.pixels import png
from everlearn.studio.sprites import COLUMNS, Sprite

router = APIRouter(prefix="/api/sprites")

Wanted = Annotated[Sprite, Query()]


@router.get("/picture.png")
def picture(sprite: Wanted) -> Response:
    """One picture."""
    return Response(png(sprite.picture()), media_type="image/png")


@router.get("/sheet.png")
def contact_sheet(sprite: Wanted) -> Response:
    """Sixty-four shapes in the same pose."""
    page = sheet(sprite.sheet(), columns=COLUMNS)
    return Response(png(np.asarray(page)), media_type="image/png")


@router.get("/code")
def code(sprite: Wanted) -> dict[str, Any]:
    """The line that draws the picture, and what it needs."""
    return {"imports": sprite.imports(), "code": sprite.code()}
