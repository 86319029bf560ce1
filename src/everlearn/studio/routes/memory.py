"""Routes to what a learner remembers, and to edits of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from everlearn.files import lock_holder
from everlearn.studio.dependencies import Body, Here, Named, saved
from everlearn.studio.image_decoder_child import colour_behind, from_canvas, png
from everlearn.studio.memory_editor import Add, Draft, Forget, Rename
from everlearn.studio.model_views import remembers

router = APIRouter(prefix="/api/memory")

Number = Annotated[int, Query(ge=0, le=2**53)]
Name = Annotated[str, Query(min_length=1, max_length=200)]


@router.get("/records")
def records(rooms: Here) -> dict[str, Any]:
    """The records whose learners remember images and can be opened."""
    return {"records": saved(rooms, remembers)}


@router.get("")
def remembered(rooms: Here, record: Named) -> dict[str, Any]:
    """Every class that is remembered, with the edits that are not saved yet."""
    with rooms.drafts.of(record) as draft:
        memory = draft.memory
        counts = {label: len(memory.images_of(label)) for label in memory.classes()}
        classes = [{"label": label, "name": memory.name(label), "images": n} for label, n in counts.items()]
        facts = {
            "classes": classes,
            "bytes": memory.nbytes,
            "playing": lock_holder(record.folder) is not None,
        }
        return {**facts, **_state(draft)}


@router.get("/image.png")
def image(rooms: Here, record: Named, label: Number, which: Number = 0) -> Response:
    """One remembered image."""
    with rooms.drafts.of(record) as draft:
        return Response(png(draft.image(label, which)), media_type="image/png")


@router.post("/add")
def add(
    rooms: Here,
    record: Named,
    body: Body,
    seen: Number,
    label: Number | None = None,
    name: Name | None = None,
) -> dict[str, Any]:
    """Teach a class with the pixels of a canvas."""
    with rooms.drafts.of(record) as draft:
        edit = Add(from_canvas(body, draft.learner.image_shape), label, name)
        return {"label": draft.edit(edit, seen), **_state(draft)}


@router.post("/rename")
def rename(rooms: Here, record: Named, seen: Number, label: Number, name: Name) -> dict[str, Any]:
    """Call a class something else."""
    with rooms.drafts.of(record) as draft:
        return {"label": draft.edit(Rename(label, name), seen), **_state(draft)}


@router.post("/forget")
def forget(rooms: Here, record: Named, seen: Number, label: Number) -> dict[str, Any]:
    """Erase a class."""
    with rooms.drafts.of(record) as draft:
        return {"label": draft.edit(Forget(label), seen), **_state(draft)}


@router.post("/undo")
def undo(rooms: Here, record: Named, seen: Number) -> dict[str, Any]:
    """Take the last edit back."""
    with rooms.drafts.of(record) as draft:
        draft.undo(seen)
        return _state(draft)


@router.post("/save")
def save(rooms: Here, record: Named) -> dict[str, Any]:
    """Write all edits into the record."""
    with rooms.drafts.of(record) as draft:
        return {"saved": len(draft.save()), **_state(draft)}


@router.get("/accuracy")
def accuracy(rooms: Here, record: Named) -> dict[str, Any]:
    """How good the learner was before the edits, and how good it is with them."""
    with rooms.drafts.of(record) as draft:
        before, after, n_images = draft.accuracy()
        return {"before": before, "after": after, "images": n_images}


def _state(draft: Draft) -> dict[str, Any]:
    """What a page needs to edit on, and to know what is unsaved."""
    memory = draft.memory
    ground = colour_behind(memory.images[0]) if len(memory) else "#000000"
    return {"edition": draft.edition, "unsaved": len(draft.edits), "ground": ground}
