"""Routes that show and edit the exemplar memory of a learner."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from everlearn.files import lock_holder
from everlearn.runs.memory_edit import exemplar_of
from everlearn.studio.dependencies import Body, Deps, OneRecord
from everlearn.studio.image_decoder import background_colour, canvas_pixels
from everlearn.studio.image_decoder_child import encode_png
from everlearn.studio.memory_editor import ClassEdit, Session
from everlearn.studio.model_views import matches_exemplars

router = APIRouter(prefix="/api/memory")

LISTED = ("record", "name", "learner", "n_tasks")
"""Fields in the menu of records."""

Index = Annotated[int, Query(ge=0, le=2**53)]
Name = Annotated[str, Query(min_length=1, max_length=200)]


@router.get("/records")
def records(deps: Deps) -> dict[str, Any]:
    """Records of learners with exemplars with a checkpoint; without notes, since phones may read this."""
    found = deps.records.with_checkpoints(matches_exemplars)
    return {"records": [{key: each[key] for key in LISTED} for each in found]}


@router.get("")
def classes(deps: Deps, record: OneRecord) -> dict[str, Any]:
    """All classes, with the unsaved edits."""
    with deps.sessions.open(record) as session:
        memory = session.memory
        rows = [
            {"label": label, "name": session.class_name(label), "n_images": len(memory.images_of(label))}
            for label in memory.classes()
        ]
        is_running = lock_holder(record.folder) is not None
        return {"classes": rows, "bytes": memory.nbytes, "running": is_running, **_state(session)}


@router.get("/image.png")
def image(deps: Deps, record: OneRecord, label: Index, index: Index = 0) -> Response:
    """A stored image of a class."""
    with deps.sessions.open(record) as session:
        return Response(encode_png(session.image(label, index)), media_type="image/png")


@router.post("/add")
def add(
    deps: Deps, record: OneRecord, body: Body, version: Index, name: Name | None = None
) -> dict[str, Any]:
    """Add a class whose exemplar is the object on a canvas, in the style of the other exemplars."""
    with deps.sessions.open(record) as session:
        pixels = exemplar_of(session.run, canvas_pixels(body))
        return _apply(session, ClassEdit("add", session.next_label(), name, pixels), version)


@router.post("/rename")
def rename(deps: Deps, record: OneRecord, version: Index, label: Index, name: Name) -> dict[str, Any]:
    """Change the name of a class."""
    with deps.sessions.open(record) as session:
        return _apply(session, ClassEdit("rename", label, name), version)


@router.post("/forget")
def forget(deps: Deps, record: OneRecord, version: Index, label: Index) -> dict[str, Any]:
    """Erase a class."""
    with deps.sessions.open(record) as session:
        return _apply(session, ClassEdit("forget", label), version)


@router.post("/undo")
def undo(deps: Deps, record: OneRecord, version: Index) -> dict[str, Any]:
    """Undo the last unsaved edit."""
    with deps.sessions.open(record) as session:
        session.undo(version)
        return _state(session)


@router.post("/save")
def save(deps: Deps, record: OneRecord) -> dict[str, Any]:
    """Write all edits to the record."""
    with deps.sessions.open(record) as session:
        return {"n_saved": len(session.save()), **_state(session)}


@router.get("/accuracy")
def accuracy(deps: Deps, record: OneRecord) -> dict[str, Any]:
    """Accuracy on a test sample without the unsaved edits and with them."""
    with deps.sessions.open(record) as session:
        before, after, n_images = session.accuracy()
        return {"before": before, "after": after, "n_images": n_images}


def _apply(session: Session, edit: ClassEdit, version: int) -> dict[str, Any]:
    session.edit(edit, version)
    return {"label": edit.label, **_state(session)}


def _state(session: Session) -> dict[str, Any]:
    """The state that a client needs for the next edit."""
    memory = session.memory
    background = background_colour(memory.images[0]) if len(memory) else "#000000"
    return {"version": session.version, "n_unsaved": len(session.edits), "background": background}
