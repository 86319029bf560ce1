"""The pages themselves: files of the package, and no others."""

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from everlearn.errors import unknown
from everlearn.runs import Record
from everlearn.studio.dependencies import Named, Several, Span
from everlearn.studio.downloads import colours, curve_plot, curves_csv, score_plot, scores_csv
from everlearn.studio.live_curves import CURVES
from everlearn.studio.security import NotThere

router = APIRouter(prefix="/api/exports")

Ending = Literal["svg", "png", "csv"]
TYPES: dict[Ending, str] = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8"}


def _known(curve: Annotated[str, Query(max_length=50)]) -> str:
    if curve not in CURVES:
        raise unknown("curve", curve, CURVES)
    return curve


Curve = Annotated[str, Depends(_known)]


@router.get("/curve")
def curve(records: Several, curve: Curve, ending: Ending, span: Span, dark: bool = False) -> Response:
    """One curve of some records: as it is drawn, or each of its points."""
    if ending == "csv":
        return _file(curves_csv(records, [curve]), curve, ending)
    return _file(curve_plot(records, curve, ending=ending, dark=dark, span=span), curve, ending)


@router.get("/curves.csv")
def every_curve(records: Several) -> Response:
    """Each point of every curve of some records."""
    return _file(curves_csv(records, list(CURVES)), "curves", "csv")


@router.get("/scores")
def scores(record: Named, ending: Ending, dark: bool = False) -> Response:
    """The score table of a record: as it is drawn, or each of its scores."""
    if ending == "csv":
        return _file(scores_csv(record), f"{_safe(record)}-scores", ending)
    return _file(score_plot(record, ending=ending, dark=dark), f"{_safe(record)}-scores", ending)


def _file(content: str | bytes, name: str, ending: Ending) -> Response:
    kept = {"content-disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(content, media_type=TYPES[ending], headers=kept)


def _safe(record: Record) -> str:
    """The name of a record's folder in letters that mean nothing to a header or a file system."""
    return "".join(
        each if each.isascii() and (each.isalnum() or each in "-_+") else "-" for each in record.folder.name
    )


CONTENT_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

pages_router = APIRouter()


def is_page(path: str) -> bool:
    """Whether a path leads to a page, which holds nothing that a token must guard."""
    return path in ("/", "/favicon.ico") or path.startswith("/static/")


@cache
def _files() -> dict[str, Traversable]:
    """What may be asked for: a fixed list, so that no name can lead outside."""
    return {file.name: file for file in resources.files("everlearn.studio").joinpath("pages").iterdir()}


@pages_router.get("/")
def home() -> Response:
    """The one page, which holds all others."""
    return page("index.html")


@pages_router.get("/favicon.ico")
def icon() -> Response:
    """The image that a browser shows beside the title."""
    return page("icon.svg")


@pages_router.get("/static/{name}")
def page(name: str) -> Response:
    """A script or a style sheet."""
    if name == "colours.css":
        return Response(colours(), media_type="text/css")
    if name not in _files():
        raise NotThere(f"there is no page {name!r:.80}")
    ending = name[name.rindex(".") :]
    return Response(_files()[name].read_bytes(), media_type=CONTENT_TYPES.get(ending, "text/plain"))
