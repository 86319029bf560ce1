"""Routes that start runs, stop them and let them go on."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from everlearn.studio import forms
from everlearn.studio.dependencies import Here, Named

router = APIRouter(prefix="/api/runs")

Word = Annotated[str, Query(max_length=100)]


class Wish(BaseModel):
    """A run that somebody wants to see."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    stream: Annotated[str, Field(max_length=100)] = "sprites"
    learner: Annotated[str, Field(max_length=100)] = "dcl"
    name: Annotated[str, Field(max_length=200)] = ""
    settings: Annotated[dict[str, Any], Field(max_length=200)] = {}


@router.get("/choices")
def choices() -> dict[str, Any]:
    """The learners and streams there are, and the settings that every run has."""
    return {**forms.choices(), "fields": forms.run_form()}


@router.get("/learner")
def learner(name: Word) -> dict[str, Any]:
    """What can be set on a learner."""
    return forms.learner_form(name)


@router.get("/stream")
def stream(name: Word) -> dict[str, Any]:
    """What can be set on a stream."""
    return forms.stream_form(name)


@router.post("")
def start(rooms: Here, wish: Wish) -> dict[str, Any]:
    """Start a run; it goes on whatever happens to this server."""
    record = rooms.starter.start(
        stream=wish.stream, learner=wish.learner, settings=wish.settings, name=wish.name.strip() or None
    )
    return {"record": record}


@router.post("/stop")
def stop(rooms: Here, record: Named) -> dict[str, Any]:
    """Ask a run to save and end."""
    rooms.starter.stop(record)
    return {}


@router.post("/resume")
def resume(rooms: Here, record: Named) -> dict[str, Any]:
    """Let a run go on from where it was saved."""
    rooms.starter.resume(record)
    return {}
