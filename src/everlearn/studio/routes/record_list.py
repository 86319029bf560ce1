"""Routes for the list of records: search, names and notes, other folders, the trash; and the leaderboard."""

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from everlearn.evaluation.formatting import LEGEND
from everlearn.reports.leaderboard import Leaderboard
from everlearn.reports.score_card import read_cards
from everlearn.studio.dependencies import Deps, OneRecord
from everlearn.studio.record_notes import Notes, write_notes

router = APIRouter(prefix="/api")

Text = Annotated[str, Query(max_length=200)]
Count = Annotated[int, Query(ge=0, le=1_000_000)]
State = Literal["any", "running", "finished", "stopped", "damaged"]
Order = Literal["newest", "name", "accuracy", "tasks"]


class NotesRequest(BaseModel):
    """The name, tags and note of a record."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=300)] = ""
    tags: Annotated[list[str], Field(max_length=100)] = []
    note: Annotated[str, Field(max_length=20_000)] = ""


@router.get("/records")
def list_records(
    deps: Deps, query: Text = "", state: State = "any", order: Order = "newest", limit: Count = 100
) -> dict[str, Any]:
    """Records that contain all words of a query in name, learner, stream, tags or note; `tag:x` is a tag."""
    summaries, words = deps.records.summaries(), query.casefold().split()
    matching = [
        each
        for each in summaries
        if state in ("any", _state(each)) and all(_matches(each, word) for word in words)
    ]
    if order != "newest":
        matching.sort(key=lambda each: _rank(each, order))
    counts = {"n_records": len(summaries), "n_matching": len(matching)}
    return {**counts, "n_deleted": len(deps.records.trash.items()), "records": matching[:limit]}


def _matches(summary: dict[str, Any], word: str) -> bool:
    if word.startswith("tag:"):
        return word.removeprefix("tag:") in [tag.casefold() for tag in summary.get("tags", ())]
    keys = ("record", "name", "learner", "stream", "tags", "note")
    return word in " ".join(str(summary.get(key) or "") for key in keys).casefold()


def _state(summary: dict[str, Any]) -> State:
    if summary["error"]:
        return "damaged"
    if summary["running"]:
        return "running"
    return "finished" if summary["finished"] else "stopped"


def _rank(summary: dict[str, Any], order: Order) -> tuple[Any, ...]:
    if order == "name":
        return (str(summary["name"] or summary["record"]).casefold(),)
    value = summary.get("accuracy" if order == "accuracy" else "n_tasks")
    return (value is None, -(value or 0.0))


@router.get("/leaderboard")
def leaderboard(deps: Deps) -> dict[str, Any]:
    """The score cards that `everlearn benchmark` wrote to the folder of records, or to its leaderboard/."""
    root = deps.records.root
    board = Leaderboard([*read_cards(root), *read_cards(root / "leaderboard")])
    return {"columns": board.columns(), "cards": board.rows(), "legend": LEGEND}


@router.post("/records/edit")
def edit(record: OneRecord, notes: NotesRequest) -> dict[str, Any]:
    """Change the name, tags and note of a record."""
    write_notes(record, notes.name.strip(), Notes(tuple(notes.tags), notes.note.strip()))
    return {}


@router.post("/records/delete")
def delete(deps: Deps, record: OneRecord) -> dict[str, Any]:
    """Move a record to the trash; one of another folder is only removed from the list."""
    if deps.records.is_other(record):
        deps.records.close(record)
    else:
        deps.sessions.drop(record)
        deps.records.trash.add(record, deps.records.name(record))
    return {}


@router.post("/records/open")
def open_folder(deps: Deps, folder: Annotated[str, Query(min_length=1, max_length=1000)]) -> dict[str, Any]:
    """Add the records of another folder to the list until the server ends."""
    return {"records": deps.records.open_folder(Path(folder))}


@router.get("/trash")
def deleted(deps: Deps) -> dict[str, Any]:
    """The deleted records."""
    return {"items": deps.records.trash.items()}


@router.post("/trash/restore")
def restore(deps: Deps, item: Annotated[str, Query(max_length=1000)]) -> dict[str, Any]:
    """Restore a deleted record."""
    return {"record": deps.records.trash.restore(item)}


@router.post("/trash/empty")
def empty(deps: Deps) -> dict[str, Any]:
    """Erase all deleted records."""
    return {"n_erased": deps.records.trash.empty()}
