"""Routes for the contents of records: curves, score matrices, comparisons, live updates, downloads."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from everlearn.errors import BadInput, unknown
from everlearn.evaluation.scores import mean_table
from everlearn.reports import compare, image_sheet
from everlearn.runs import Record, RunSpec
from everlearn.studio.curve_groups import Axis, CurveView
from everlearn.studio.dependencies import Deps, OneRecord, SeveralRecords, TaskRange
from everlearn.studio.downloads import (
    comparison_csv,
    curve_figure,
    curve_latex,
    curves_csv,
    score_figure,
    scores_csv,
    scores_latex,
)
from everlearn.studio.image_decoder_child import encode_png
from everlearn.studio.live_curves import CURVES, POLL_INTERVAL, LiveCurves, crop, downsample, read_curves

N_TASK_IMAGES = 9
"""Number of example images of a task."""
MEDIA_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "tex": "text/plain; charset=utf-8",
}

router = APIRouter(prefix="/api")

FileFormat = Annotated[Literal["svg", "png", "csv", "tex"], Query(alias="format")]
TableFormat = Annotated[Literal["csv", "tex"], Query(alias="format")]


@router.get("/records/curves")
def record_curves(record: OneRecord, task_range: TaskRange) -> dict[str, Any]:
    """The curves of a record, or a part of them, downsampled."""
    return {
        name: downsample(crop(points, *task_range) if task_range else points)
        for name, points in read_curves(record).items()
    }


@router.get("/records/scores")
def score_matrix(record: OneRecord) -> dict[str, Any]:
    """Accuracy on each task (column) after each task (row); means over blocks if there are many tasks."""
    table = mean_table([record.scores])
    rows = [[None if math.isnan(cell) else round(cell, 4) for cell in row] for row in table.tolist()]
    return {"n_tasks": record.n_tasks_done, "rows": rows}


@router.get("/records/task.png")
def task_images(record: OneRecord, task: Annotated[int, Query(ge=0, le=1_000_000)]) -> Response:
    """Some training images of a task, as one image."""
    spec = RunSpec.from_record(record)
    images = spec.stream.build().task(task).train.images
    chosen = images[:: max(1, len(images) // N_TASK_IMAGES)][:N_TASK_IMAGES]
    return Response(encode_png(np.asarray(image_sheet(chosen, columns=3))), media_type="image/png")


@router.get("/records/live")
async def live_curves(request: Request, deps: Deps, records: SeveralRecords) -> StreamingResponse:
    """Server-sent events with the curves of records, from the start of the runs until the client leaves."""
    curves = {deps.records.name(each): LiveCurves(each, deps.shared_curves(each)) for each in records}

    async def messages() -> AsyncIterator[str]:
        states: dict[str, dict[str, Any]] = {}
        while not deps.is_closing and not await request.is_disconnected():
            updates = await run_in_threadpool(
                lambda: [_update(name, each, states) for name, each in curves.items()]
            )
            if any(updates):  # in one message: the client may leave between two
                yield "".join(f"data: {json.dumps(each)}\n\n" for each in updates if each)
            await asyncio.sleep(POLL_INTERVAL)

    return StreamingResponse(messages(), media_type="text/event-stream")


def _update(name: str, curves: LiveCurves, states: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """The message about a record, if anything has changed."""
    shared, before = curves.shared, states.get(name)
    try:
        restarts, points = curves.update()
        states[name] = {"running": shared.is_running, "finished": shared.is_finished}
    except BadInput as error:
        restarts, points, states[name] = False, {}, {"error": str(error)}
    if not points and not restarts and states[name] == before:
        return None
    return {"record": name, "restarts": restarts, "points": points, "state": states[name]}


def _curve_name(curve: Annotated[str, Query(max_length=50)]) -> str:
    if curve not in CURVES:
        raise unknown("curve", curve, CURVES)
    return curve


def _view(
    deps: Deps,
    curve: Annotated[str, Depends(_curve_name)],
    x_range: TaskRange,
    axis: Axis = "tasks",
    log: bool = False,
    grouped: bool = False,
    baseline: Annotated[str | None, Query(max_length=1000)] = None,
) -> CurveView:
    folder = None if baseline is None else deps.records.open(baseline).folder
    return CurveView(curve, axis, x_range, log, grouped, folder)


@router.get("/downloads/curve")
def download_curve(
    records: SeveralRecords,
    view: Annotated[CurveView, Depends(_view)],
    file_format: FileFormat,
    dark: bool = False,
) -> Response:
    """One curve of some records: a plot, all points as CSV, or a plot for LaTeX."""
    if file_format == "csv":
        return _file(curves_csv(records, [view.curve]), view.curve, "csv")
    if file_format == "tex":
        return _file(curve_latex(records, view), view.curve, "tex")
    plot = curve_figure(records, view, file_format=file_format, dark=dark)
    return _file(plot, view.curve, file_format)


@router.get("/comparison")
def comparison(records: SeveralRecords) -> dict[str, Any]:
    """Runs that differ in their seeds only as one row each, by decreasing accuracy."""
    found = compare(records)
    columns = found.columns()
    return {
        "columns": [{"heading": each.heading, "meaning": each.meaning} for each in columns],
        "rows": [[each.cell(group) for each in columns] for group in found.groups],
        "notes": found.notes,
    }


@router.get("/downloads/comparison")
def download_comparison(records: SeveralRecords, file_format: TableFormat) -> Response:
    """The comparison of some records as CSV or LaTeX."""
    found = compare(records)
    content = comparison_csv(found) if file_format == "csv" else found.to_latex()
    return _file(content, "comparison", file_format)


@router.get("/downloads/curves.csv")
def download_curves(records: SeveralRecords) -> Response:
    """All points of all curves of some records."""
    return _file(curves_csv(records, list(CURVES)), "curves", "csv")


@router.get("/downloads/scores")
def download_scores(record: OneRecord, file_format: FileFormat, dark: bool = False) -> Response:
    """The score matrix of a record: a plot, all scores as CSV, or a LaTeX table."""
    name = f"{_file_name(record)}-scores"
    if file_format == "csv":
        return _file(scores_csv(record), name, "csv")
    if file_format == "tex":
        return _file(scores_latex(record), name, "tex")
    return _file(score_figure(record, file_format=file_format, dark=dark), name, file_format)


def _file(content: str | bytes, name: str, file_format: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}.{file_format}"'}
    return Response(content, media_type=MEDIA_TYPES[file_format], headers=headers)


def _file_name(record: Record) -> str:
    """The folder name of a record in characters that are valid in headers and file names."""
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_+") else "-"
        for letter in record.folder.name
    )
