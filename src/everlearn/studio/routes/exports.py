"""Routes that give what the page of runs shows as files."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from everlearn.errors import unknown
from everlearn.runs import Record
from everlearn.studio.curves import CURVES
from everlearn.studio.plots import curve_plot, score_plot
from everlearn.studio.rooms import Named, Several, Span
from everlearn.studio.tables import curves_csv, scores_csv

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
