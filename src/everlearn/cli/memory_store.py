"""`everlearn memory store`: exemplar memories on disk that do not belong to a learner."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

from everlearn.cli.arguments import ANY_STREAM, StreamChoice, Whole, check_path, read_image, read_tasks
from everlearn.cli.output import CommandResult, Console, ConsoleArg, UpdateProgress, counted, table
from everlearn.errors import BadInput, check_range, unknown

if TYPE_CHECKING:
    from everlearn.memory import OnDiskMemory
    from everlearn.streams import Batch, Stream

IMAGES_PER_EDIT = 2000
MAX_DIGITS = 18
"""Of a label."""

app = App(name="store", help="Create, fill and search an on-disk memory.")


@app.command
def create(memory: Path, /, *, image_size: Whole = 64, colour: bool = False) -> CommandResult:
    """Create an empty on-disk memory for up to a million classes.

    Args:
        memory: A new folder.
        image_size: Width and height of its images in pixels.
        colour: Store RGB images; default: gray.
    """
    shape = (image_size, image_size, 3) if colour else (image_size, image_size)
    from everlearn.memory import OnDiskMemory

    OnDiskMemory.create(check_path(memory), image_shape=shape).close()
    return CommandResult({"memory": str(memory), "image_shape": list(shape)}, lambda: f"created {memory}")


@app.command(name="import")
def import_(
    memory: Path, /, stream: StreamChoice = ANY_STREAM, *, tasks: str = "0:10", console: ConsoleArg
) -> CommandResult:
    """Import the exemplars of a stream; run it again to continue after an interruption.

    Args:
        memory: Folder of the on-disk memory.
        stream: The stream.
        tasks: Tasks: a number, a list such as 0,5,7 or a range without its end such as 0:10.
    """
    import numpy as np

    wanted, source = read_tasks(tasks), stream.build()
    with _open(memory) as store, console.progress(f"Importing to {memory}") as update:
        before = len(store)
        for done, exemplars in _exemplars(source, wanted):
            labels, first = np.unique(exemplars.labels, return_index=True)
            new = first[~np.isin(labels, store.labels())]
            store.add(exemplars.labels[new], exemplars.images[new])
            update(done, len(wanted), counted(len(store), "image"))
        return _result(memory, store, {"added": len(store) - before}, f"of {source.id} added")


@app.command
def search(memory: Path, image: Path, /, *, k: Whole = 3) -> CommandResult:
    """Find the images that are nearest to one.

    Args:
        memory: Folder of the on-disk memory.
        image: Image of the object: upright, large and centered.
        k: Number of results.
    """
    with _open(memory) as store:
        labels, distances = store.search(read_image(image, store.image_shape)[None], k)
        found = [
            {"label": label, "name": store.name(label), "distance": distance}
            for label, distance in zip(labels[0].tolist(), distances[0].tolist(), strict=True)
        ]
    rows = [(str(each["label"]), each["name"], f"{each['distance']:,.0f}") for each in found]
    return CommandResult(
        {"memory": str(memory), "found": found},
        lambda: table(("label", "name", "distance"), rows) if rows else "the memory is empty",
    )


def is_store(folder: Path) -> bool:
    """Whether a folder is an on-disk memory, and not a record."""
    from everlearn.memory.on_disk.metadata import METADATA

    return (check_path(folder) / METADATA).is_file()


def list_classes(memory: Path) -> dict[str, Any]:
    """The classes in an on-disk memory, as `everlearn memory list` shows them."""
    import numpy as np

    with _open(memory) as store:
        names = store.names()
        labels, counts = np.unique(store.labels(), return_counts=True)
        classes = [
            {"label": label, "name": names.get(label, str(label)), "images": count}
            for label, count in zip(labels.tolist(), counts.tolist(), strict=True)
        ]
        return {"memory": str(memory), **_size(store), "classes": classes}


def add(memory: Path, source: Path, label: int | None, name: str | None, console: Console) -> CommandResult:
    """Add an image, or all images of a folder."""
    with _open(memory) as store:
        before = len(store)
        if not source.is_dir():
            _add_image(store, source, label, name)
        elif label is not None or name is not None:
            raise BadInput("images of a folder are named after their files; omit --label and --name")
        else:
            with console.progress(f"Adding to {memory}") as update:
                _add_folder(store, source, update)
        return _result(memory, store, {"added": len(store) - before}, "added")


def rename(memory: Path, word: str, name: str) -> CommandResult:
    """Rename a class."""
    with _open(memory) as store:
        label = find_label(word, store.names(), store)
        store.rename(label, name)
    data = {"memory": str(memory), "label": label, "name": name}
    return CommandResult(data, lambda: f"renamed label {label} to {name}")


def forget(memory: Path, word: str) -> CommandResult:
    """Delete a class from every file."""
    with _open(memory) as store:
        label = find_label(word, store.names(), store)
        data = {"label": label, "forgotten": store.forget([label])}
        return _result(memory, store, data, f"of label {label} deleted")


def find_label(word: str, names: Mapping[int, str], labels: "Collection[int] | OnDiskMemory") -> int:
    """The label that a user means by a name or a number."""
    named = [label for label, name in names.items() if name == word]
    if len(named) > 1:
        raise BadInput(f"{word!r:.80} is the name of {len(named)} classes; give the label instead")
    if named:
        return named[0]
    if not (word.isascii() and word.isdecimal()):
        raise unknown("class", word[:80], names.values())
    if len(word) > MAX_DIGITS or int(word) not in labels:
        raise BadInput(f"the memory has no label {word:.80}; `everlearn memory list` shows all labels")
    return int(word)


def _open(memory: Path) -> "OnDiskMemory":
    from everlearn.memory import OnDiskMemory

    return OnDiskMemory(check_path(memory))


def _exemplars(stream: "Stream", tasks: Sequence[int]) -> "Iterator[tuple[int, Batch]]":
    """The number of tasks done, and the exemplars of the tasks of one edit."""
    from everlearn.streams import Batch

    parts: list[Batch] = []
    for done, k in enumerate(tasks, 1):
        parts.append(stream.task(k).exemplars)
        if done == len(tasks) or sum(map(len, parts)) >= IMAGES_PER_EDIT:
            yield done, Batch.concatenate(parts)
            parts = []


def _add_image(store: "OnDiskMemory", image: Path, label: int | None, name: str | None) -> None:
    from everlearn.memory.on_disk.labels import MAX_LABEL

    chosen = _next_label(store) if label is None else label
    check_range("label", chosen, 0, MAX_LABEL)
    pixels = read_image(image, store.image_shape)
    store.add([chosen], pixels[None], None if name is None else [name])


def _add_folder(store: "OnDiskMemory", folder: Path, update: UpdateProgress) -> None:
    """Add the classes whose names are new, so that a second call continues an interrupted one."""
    classes = _classes_in(folder)
    known = set(store.names().values())
    new = [name for name in classes if name not in known]
    for start in range(0, len(new), IMAGES_PER_EDIT):
        some = new[start : start + IMAGES_PER_EDIT]
        _add_classes(store, {name: classes[name] for name in some})
        update(len(classes) - len(new) + start + len(some), len(classes), counted(len(store), "image"))


def _add_classes(store: "OnDiskMemory", classes: Mapping[str, list[Path]]) -> None:
    """Add classes with all their images in one edit, so that an interruption leaves no class incomplete."""
    import numpy as np

    rows = [
        (label, name, file)
        for label, name in enumerate(classes, _next_label(store))
        for file in classes[name]
    ]
    labels, names, files = zip(*rows, strict=True)
    store.add(labels, np.stack([read_image(file, store.image_shape) for file in files]), names)


def _classes_in(folder: Path) -> dict[str, list[Path]]:
    """Image files by class: one for each subfolder and for each image in the folder itself."""
    from everlearn.streams.images.decode import SUFFIXES

    classes: dict[str, list[Path]] = {}
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith("."):
            name = path.stem if path.parent == folder else path.parent.name
            classes.setdefault(name, []).append(path)
    if not classes:
        raise BadInput(f"{str(folder)!r} has no images; name an image, or a folder of images")
    return classes


def _next_label(store: "OnDiskMemory") -> int:
    return int(store.classes()[-1]) + 1 if len(store) else 0


def _size(store: "OnDiskMemory") -> dict[str, int]:
    return {"images": len(store), "bytes": store.disk_bytes, "ram_bytes": store.nbytes}


def _result(memory: Path, store: "OnDiskMemory", data: dict[str, Any], what: str) -> CommandResult:
    """The result of an edit; the last value of `data` is the number of images edited, `what` the edit."""
    size, n_images = _size(store), list(data.values())[-1]
    total = f"{memory} has {counted(size['images'], 'image')}, {size['bytes']:,} bytes"
    message = f"{counted(n_images, 'image')} {what}; {total}"
    return CommandResult({"memory": str(memory), **data, **size}, lambda: message)
