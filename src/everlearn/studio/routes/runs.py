"""Routes that start, stop and resume runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from everlearn.errors import BadInput
from everlearn.studio import forms, glossary, processes
from everlearn.studio.dependencies import Deps, OneRecord
from everlearn.studio.security import Conflict, FieldError

router = APIRouter(prefix="/api")

Name = Annotated[str, Query(max_length=300)]


class RunRequest(BaseModel):
    """The run to start."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    stream: Annotated[str, Field(max_length=300)] = "sprites"
    learner: Annotated[str, Field(max_length=300)] = "dcl"
    name: Annotated[str, Field(max_length=200)] = ""
    settings: Annotated[dict[str, Any], Field(max_length=200)] = {}


@router.get("/glossary")
def explanations() -> dict[str, Any]:
    """Explanations of learners, metrics and terms."""
    return glossary.describe()


@router.get("/runs/options")
def options() -> dict[str, Any]:
    """The learners, the streams, and the settings that all runs have."""
    return forms.run_options()


@router.get("/runs/learner")
def learner(name: Name) -> dict[str, Any]:
    """The settings of a learner."""
    return forms.learner_form(name)


@router.get("/runs/stream")
def stream(name: Name) -> dict[str, Any]:
    """The settings of a stream."""
    return forms.stream_form(name)


@router.post("/runs")
def start(deps: Deps, run: RunRequest) -> dict[str, Any]:
    """Start a run; it continues when this server ends."""
    name = run.name.strip()
    wanted: dict[str, Any] = {"stream": run.stream, "learner": run.learner, "settings": run.settings}
    try:
        record = processes.start(deps.records.root, **wanted, name=name or None)
    except Conflict:
        raise
    except BadInput as error:
        raise FieldError(str(error), forms.field_at_fault(**wanted, name=name)) from None
    return {"record": record}


@router.post("/runs/stop")
def stop(record: OneRecord) -> dict[str, Any]:
    """Request that a run saves a checkpoint and ends."""
    processes.stop(record)
    return {}


@router.post("/runs/resume")
def resume(record: OneRecord) -> dict[str, Any]:
    """Resume a run from its checkpoint."""
    processes.resume(record)
    return {}
