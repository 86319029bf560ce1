"""`everlearn memory`: look at what a learner remembers, and edit it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from everlearn.cli import memory_store
from everlearn.cli.arguments import Whole, check_path
from everlearn.cli.output import Answer, Shown
from everlearn.errors import BadInput, check_range

if TYPE_CHECKING:
    from everlearn.memory import ExemplarMemory
    from everlearn.runs.events import Act, MemoryEdited

MAX_LABEL = 2**63 - 1
SHOWN = 40
COLUMNS = 20

app = App(name="memory", help="Look at what a learner remembers, or a shelf holds, and edit it.")
app.command(memory_store.make)
app.command(memory_store.fill)
app.command(memory_store.find)


@app.command(name="list")
def list_(
    record: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False)] = None,
) -> Answer:
    """List the classes that the learner of a record remembers, or a shelf holds.

    Args:
        record: The folder of the record or shelf.
        out: A .png file to draw all remembered images to.
    """
    from everlearn.evaluation.protocols import editable_memory
    from everlearn.reports import image_sheet, save
    from everlearn.reports.contact_sheet import check_image_path
    from everlearn.runs import Record
    from everlearn.runs.memory_edit import opened

    if out is not None:
        check_image_path(check_path(out), animated=False)
    if memory_store.is_shelf(record):
        if out is not None:
            raise BadInput("a shelf may hold a million images; leave --out out")
        held = memory_store.list_(record)
        return Answer(held, lambda: _view(held))
    memory = editable_memory(opened(Record(record)).learner)
    facts = {"record": str(record), **_facts(memory)}
    if out is not None:
        rows = [exemplar.row for exemplar in memory.exemplars()]
        facts["image"] = str(save(image_sheet(memory.images[rows], columns=COLUMNS), out))
    return Answer(facts, lambda: _view(facts))


@app.command
def add(
    record: Path,
    image: Path,
    /,
    *,
    label: Whole | None = None,
    name: str | None = None,
    screen: Shown,
) -> Answer:
    """Teach a class with one image; nothing is trained.

    Args:
        record: The folder of the record or shelf.
        image: An image of the thing upright, large and in the middle; for a shelf also a folder of
            images, whose classes are named after files or sub-folders.
        label: The class it shows; a new one if not said.
        name: What people call the class.
        screen: Where progress is shown.
    """
    if memory_store.is_shelf(record):
        return memory_store.add(record, image, label, name, screen)
    import numpy as np

    from everlearn.cli.arguments import read_image
    from everlearn.streams import Batch

    def edit(memory: "ExemplarMemory") -> int:
        if not len(memory):
            raise BadInput(f"{record} remembers nothing yet; play it with `everlearn resume {record}`")
        chosen = max(memory.classes()) + 1 if label is None else label
        check_range("label", chosen, 0, MAX_LABEL)  # -1 is the answer of who does not know
        pixels = read_image(image, memory.images.shape[1:])
        memory.add(Batch(pixels[None], np.array([chosen])))
        if name is not None:
            memory.rename(chosen, name)
        return chosen

    done = _edited(record, "add", edit)
    words = f"label {done.label} is remembered by {image} ({_count(done.n_images)} of it in all)"
    return _answer(record, done, words, name=name or str(done.label))


@app.command
def rename(record: Path, label: str, name: str, /) -> Answer:
    """Let people call a class something else; its label stays.

    Args:
        record: The folder of the record or shelf.
        label: The class, by its label or its name.
        name: The new name.
    """
    if memory_store.is_shelf(record):
        return memory_store.rename(record, label, name)

    def edit(memory: "ExemplarMemory") -> int:
        found = _label(memory, label)
        memory.rename(found, name)
        return found

    done = _edited(record, "rename", edit)
    return _answer(record, done, f"label {done.label} is called {name}", name=name)


@app.command
def forget(record: Path, label: str, /) -> Answer:
    """Erase a class: afterwards no file of the record or shelf holds a byte of its images.

    Args:
        record: The folder of the record or shelf.
        label: The class, by its label or its name.
    """
    if memory_store.is_shelf(record):
        return memory_store.forget(record, label)
    n_images = 0

    def edit(memory: "ExemplarMemory") -> int:
        nonlocal n_images
        found = _label(memory, label)
        n_images = memory.forget(found)
        return found

    done = _edited(record, "forget", edit)
    words = f"label {done.label} is forgotten: {_count(n_images)} erased from every file of the record"
    return _answer(record, done, words, forgotten=n_images)


def _edited(record: Path, act: "Act", edit: "Callable[[ExemplarMemory], int]") -> "MemoryEdited":
    from everlearn.runs import Record
    from everlearn.runs.memory_edit import edited

    (done,) = edited(Record(record), [(act, edit)])
    return done


def _answer(record: Path, done: "MemoryEdited", words: str, **facts: Any) -> Answer:
    """What an edit did, and what is held since."""
    held = {"record": str(record), "label": done.label, **facts, "memory_bytes": done.memory_bytes}
    return Answer(held, lambda: f"{words}; {done.memory_bytes:,} bytes are remembered")


def _count(n_images: int) -> str:
    return "1 image" if n_images == 1 else f"{n_images:,} images"


def _label(memory: "ExemplarMemory", word: str) -> int:
    """The class that a label or a name stands for."""
    named = [label for label in memory.classes() if memory.name(label) == word]
    if len(named) == 1:
        return named[0]
    if named or not (word.isascii() and word.isdecimal()):
        raise BadInput(f"{word!r:.80} names {len(named)} classes; `everlearn memory list` shows all labels")
    if int(word[:18]) not in memory:
        raise BadInput(f"nothing is remembered of label {word:.80}; `everlearn memory list` shows all labels")
    return int(word)


def _facts(memory: "ExemplarMemory") -> dict[str, Any]:
    classes = [
        {"label": label, "name": memory.name(label), "images": len(memory.images_of(label))}
        for label in memory.classes()
    ]
    return {"images": len(memory), "bytes": memory.nbytes, "classes": classes}


def _view(facts: dict[str, Any]) -> Any:
    """Most classes are a label and one image, and said together; the others get a line each."""
    from rich.console import Group

    from everlearn.cli.output import table

    plain = [c["label"] for c in facts["classes"] if c["images"] == 1 and c["name"] == str(c["label"])]
    special = [tuple(map(str, c.values())) for c in facts["classes"] if c["label"] not in set(plain)]
    count = f"{facts['images']:,} images of {len(facts['classes']):,} classes, {facts['bytes']:,} bytes"
    lines: list[Any] = [f"one image each, without a name: {_ranges(plain)}"] if plain else []
    lines += [table(("label", "name", "images"), special[:SHOWN])] if special else []
    lines += [f"… and {len(special) - SHOWN:,} more (--json lists all)"] if len(special) > SHOWN else []
    lines += [f"drawn to {facts['image']}"] if "image" in facts else []
    return Group(count, *lines)


def _ranges(labels: Sequence[int]) -> str:
    """Rising labels in as few words as possible.

    Example:
        >>> _ranges([0, 1, 2, 5, 7, 8])
        '0–2, 5, 7–8'
    """
    first = [label for label, before in zip(labels, [None, *labels], strict=False) if before != label - 1]
    last = [label for label, after in zip(labels, [*labels[1:], None], strict=True) if after != label + 1]
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(first, last, strict=True))
