"""`everlearn memory`: list and edit the exemplar memory of a learner, or one on disk."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from everlearn import reports, runs
from everlearn.cli import memory_store
from everlearn.cli.arguments import Whole, check_path
from everlearn.cli.output import CommandResult, ConsoleArg, counted, table
from everlearn.errors import BadInput, check_range

if TYPE_CHECKING:
    from everlearn.memory import ExemplarMemory
    from everlearn.runs.events import MemoryAction, MemoryEdited

MAX_LABEL = 2**63 - 1
MAX_LISTED = 40
SHEET_COLUMNS = 20

app = App(name="memory", help="List and edit the exemplar memory of a learner, or one on disk.")
app.command(memory_store.app)

Out = Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")]


@app.command(name="list")
def list_(memory: Path, /, *, out: Out = None) -> CommandResult:
    """List the classes in a memory.

    Args:
        memory: Folder of a record or of an on-disk memory.
        out: A .png file for all exemplars of a record.
    """
    from everlearn.runs.memory_edit import ClassNames

    if out is not None:
        reports.check_image_path(check_path(out), animated=False)
    if memory_store.is_store(memory):
        if out is not None:
            raise BadInput("--out is only for records, because an on-disk memory may be too large; omit it")
        stored = memory_store.list_classes(memory)
        return CommandResult(stored, lambda: _overview(stored))
    names = ClassNames(runs.load_run(runs.Record(memory)))
    exemplars = names.memory
    classes = [
        {"label": label, "name": name, "images": len(exemplars.images_of(label))}
        for label, name in names.all().items()
    ]
    data = {"record": str(memory), "images": len(exemplars), "bytes": exemplars.nbytes, "classes": classes}
    if out is not None:
        rows = [exemplar.row for exemplar in exemplars.exemplars()]
        data["image"] = str(
            reports.save(reports.image_sheet(exemplars.images[rows], columns=SHEET_COLUMNS), out)
        )
    return CommandResult(data, lambda: _overview(data))


@app.command
def add(
    memory: Path,
    image: Path,
    /,
    *,
    label: Whole | None = None,
    name: str | None = None,
    console: ConsoleArg,
) -> CommandResult:
    """Add an exemplar to a class, or a new class; nothing is trained.

    Args:
        memory: Folder of a record or of an on-disk memory.
        image: Image of the object, which is cut out of its background and drawn as the other exemplars
            are. For an on-disk memory also a folder of images, named after files or subfolders.
        label: Label of the class; default: a new class.
        name: Name of the class.
    """
    if memory_store.is_store(memory):
        return memory_store.add(memory, image, label, name, console)
    import numpy as np

    from everlearn.runs.memory_edit import exemplar_of
    from everlearn.streams import Batch
    from everlearn.streams.images.canonical import read_image

    pixels = exemplar_of(runs.load_run(runs.Record(memory)), read_image(check_path(image)))

    def edit(exemplars: "ExemplarMemory") -> int:
        if not len(exemplars):
            raise BadInput(
                f"the memory of {memory} is empty; continue the run with `everlearn resume {memory}`"
            )
        chosen = max(exemplars.classes()) + 1 if label is None else label
        check_range("label", chosen, 0, MAX_LABEL)  # -1 is the prediction "unknown"
        exemplars.add(Batch(pixels[None], np.array([chosen])))
        if name is not None:
            exemplars.rename(chosen, name)
        return chosen

    event = _edit(memory, "add", edit)
    message = f"added {image} to label {event.label}, which has {counted(event.n_images, 'image')}"
    return _result(memory, event, message, name=name or str(event.label))


@app.command
def rename(memory: Path, label: str, name: str, /) -> CommandResult:
    """Rename a class; its label stays.

    Args:
        memory: Folder of a record or of an on-disk memory.
        label: Label or name of the class.
        name: New name.
    """
    if memory_store.is_store(memory):
        return memory_store.rename(memory, label, name)

    found = _find_label(memory, label)

    def edit(exemplars: "ExemplarMemory") -> int:
        exemplars.rename(found, name)
        return found

    event = _edit(memory, "rename", edit)
    return _result(memory, event, f"renamed label {event.label} to {name}", name=name)


@app.command
def forget(memory: Path, label: str, /) -> CommandResult:
    """Delete a class; no file keeps a byte of its images.

    Args:
        memory: Folder of a record or of an on-disk memory.
        label: Label or name of the class.
    """
    if memory_store.is_store(memory):
        return memory_store.forget(memory, label)
    found, n_images = _find_label(memory, label), 0

    def edit(exemplars: "ExemplarMemory") -> int:
        nonlocal n_images
        n_images = exemplars.forget(found)
        return found

    event = _edit(memory, "forget", edit)
    message = (
        f"deleted label {event.label}: {counted(n_images, 'image')} erased from every file of the record"
    )
    return _result(memory, event, message, forgotten=n_images)


def _edit(record: Path, action: "MemoryAction", edit: "Callable[[ExemplarMemory], int]") -> "MemoryEdited":
    (event,) = runs.edit_memory(runs.Record(record), [(action, edit)])
    return event


def _result(record: Path, event: "MemoryEdited", message: str, **more: Any) -> CommandResult:
    data = {"record": str(record), "label": event.label, **more, "memory_bytes": event.memory_bytes}
    return CommandResult(data, lambda: f"{message}; the memory has {event.memory_bytes:,} bytes")


def _find_label(record: Path, word: str) -> int:
    """The label that a user means by a name, also that of a folder, or by a number."""
    from everlearn.runs.memory_edit import ClassNames

    names = ClassNames(runs.load_run(runs.Record(record))).all()
    return memory_store.find_label(word, names, names.keys())


def _overview(data: dict[str, Any]) -> Any:
    """Classes with one image and no name in one line, a line for each other class."""
    from rich.console import Group

    plain = [c["label"] for c in data["classes"] if c["images"] == 1 and c["name"] == str(c["label"])]
    others = [tuple(map(str, c.values())) for c in data["classes"] if c["label"] not in set(plain)]
    lines: list[Any] = [
        f"{data['images']:,} images of {len(data['classes']):,} classes, {data['bytes']:,} bytes"
    ]
    lines += [f"one image each, without a name: {_ranges(plain)}"] if plain else []
    lines += [table(("label", "name", "images"), others[:MAX_LISTED])] if others else []
    lines += (
        [f"… and {len(others) - MAX_LISTED:,} more (--json lists all)"] if len(others) > MAX_LISTED else []
    )
    lines += [f"exemplars are in {data['image']}"] if "image" in data else []
    return Group(*lines)


def _ranges(labels: Sequence[int]) -> str:
    """Ascending labels as ranges.

    Example:
        >>> _ranges([0, 1, 2, 5, 7, 8])
        '0–2, 5, 7–8'
    """
    first = [label for label, before in zip(labels, [None, *labels], strict=False) if before != label - 1]
    last = [label for label, after in zip(labels, [*labels[1:], None], strict=True) if after != label + 1]
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(first, last, strict=True))
