"""Routes that show records: the list, curves, score tables, and what happens now."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.reports.axes import mean_table
from everlearn.reports.run_results import Findings, summary
from everlearn.studio.dependencies import Here, Named, Several, Span
from everlearn.studio.live_curves import CURVES, Follower, curves, thinned, within

router = APIRouter(prefix="/api/records")

PAUSE = 0.1
"""Seconds between two looks at records that may be growing."""

Text = Annotated[str, Query(max_length=200)]
Count = Annotated[int, Query(ge=0, le=1_000_000)]


@router.get("")
def listed(rooms: Here, words: Text = "", first: Count = 0, limit: Count = 100) -> dict[str, Any]:
    """The records that hold all of some words in their names, learners or streams, newest first."""
    everything = rooms.shelf.facts()
    wanted = words.casefold().split()
    fitting = [facts for facts in everything if all(word in _searched(facts) for word in wanted)]
    return {"total": len(everything), "fitting": len(fitting), "records": fitting[first : first + limit]}


@router.get("/summary")
def summed_up(record: Named) -> dict[str, Any]:
    """All that is known of a record, with its spec."""
    facts = summary(Findings.of(record))
    return {**facts, "record": record.folder.name, "settings": record.spec, "machine": record.machine}


@router.get("/curves")
def drawn(record: Named, span: Span) -> dict[str, Any]:
    """Every curve of a record, or a part of each, in as many points as the eye can tell apart."""
    points = curves(record)
    shown = {name: thinned(within(some, *span) if span else some) for name, some in points.items()}
    return {"curves": CURVES, "points": shown}


@router.get("/scores")
def score_table(record: Named) -> dict[str, Any]:
    """Accuracy on each task (column) after each task (row), of many tasks in cells that share some."""
    table = mean_table([record.score_table()])
    rows = [[None if math.isnan(cell) else round(cell, 4) for cell in row] for row in table.tolist()]
    return {"n_tasks": record.n_tasks_played, "rows": rows}


@router.get("/live")
async def live(request: Request, rooms: Here, records: Several) -> StreamingResponse:
    """What happens in some records from the beginning on, as server-sent events, until nobody listens."""
    followers = {rooms.shelf.name(record): Follower(record) for record in records}

    async def told() -> AsyncIterator[str]:
        states: dict[str, dict[str, Any]] = {}
        while not rooms.is_closing and not await request.is_disconnected():
            for name, follower in followers.items():
                message = await run_in_threadpool(_news, name, follower, states)
                if message is not None:
                    yield f"data: {json.dumps(message)}\n\n"
            await asyncio.sleep(PAUSE)

    return StreamingResponse(told(), media_type="text/event-stream")


def _news(name: str, follower: Follower, states: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """What is new in a record, if anything is."""
    record, before = follower.record, states.get(name)
    try:
        is_new, points = follower.news()
        states[name] = {"playing": lock_holder(record.folder) is not None, "finished": record.is_finished}
    except BadInput as error:
        is_new, points, states[name] = False, {}, {"error": str(error)}
    if not points and not is_new and states[name] == before:
        return None
    return {"record": name, "anew": is_new, "points": points, "state": states[name]}


def _searched(facts: dict[str, Any]) -> str:
    return " ".join(str(facts.get(key) or "") for key in ("record", "name", "learner", "stream")).casefold()
