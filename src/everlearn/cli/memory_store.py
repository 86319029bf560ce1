"""`everlearn memory` on a shelf: an exemplar memory on disk that belongs to no learner."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.cli.arguments import ANY_STREAM, StreamChoice, Whole, check_path, read_tasks
from everlearn.cli.output import Answer, Progress, Shown
from everlearn.errors import BadInput, check_range, unknown

if TYPE_CHECKING:
    from everlearn.memory import OnDiskMemory
    from everlearn.streams import Batch, Stream


BATCH = 2000
"""Images added in one edit."""

Named = tuple[str, list[Path]]


def is_shelf(folder: Path) -> bool:
    """Whether a folder holds a shelf, and not a record."""
    from everlearn.memory.on_disk.storage import METADATA

    return (check_path(folder) / METADATA).is_file()


def make(shelf: Path, /, *, image_size: Whole = 64, colour: bool = False) -> Answer:
    """Make an empty shelf: a memory on disk for a million classes, one image each.

    Args:
        shelf: A new folder.
        image_size: Width and height of its images in pixels.
        colour: Keep colours; images are gray otherwise.
    """
    from everlearn.memory import OnDiskMemory

    shape = (image_size, image_size, 3) if colour else (image_size, image_size)
    OnDiskMemory.create(check_path(shelf), image_shape=shape).close()
    return Answer({"shelf": str(shelf), "image_shape": list(shape)}, lambda: f"{shelf} is an empty shelf")


def fill(shelf: Path, /, stream: StreamChoice = ANY_STREAM, *, tasks: str = "0:10", screen: Shown) -> Answer:
    """Put the exemplars of a stream's classes on a shelf; run it again to go on after a break.

    Args:
        shelf: The folder of the shelf.
        stream: Whose classes.
        tasks: Which tasks: one number, several such as 0,5,7 or a range without its end such as 0:10.
        screen: Where progress is shown.
    """
    import numpy as np

    from everlearn.memory import OnDiskMemory

    wanted, chosen = read_tasks(tasks), stream.build()
    with OnDiskMemory(check_path(shelf)) as held, screen.progress(f"Filling {shelf}") as progress:
        before = len(held)
        for done, exemplars in _exemplars(chosen, wanted):
            labels, first = np.unique(exemplars.labels, return_index=True)
            new = first[~np.isin(labels, held.labels())]
            held.add(exemplars.labels[new], exemplars.images[new])
            progress(done, len(wanted), f"{len(held):,} images")
        facts = {"shelf": str(shelf), "added": len(held) - before, **_size(held)}
    return Answer(facts, lambda: _said(facts, f"{facts['added']:,} images of {chosen.id} were added"))


def find(shelf: Path, image: Path, /, *, k: Whole = 3) -> Answer:
    """Find the images on a shelf that are most like one.

    Args:
        shelf: The folder of the shelf.
        image: An image of the thing upright, large and in the middle.
        k: How many.
    """
    from everlearn.cli.arguments import read_image
    from everlearn.memory import OnDiskMemory

    with OnDiskMemory(check_path(shelf)) as held:
        labels, distances = held.search(read_image(image, held.image_shape)[None], k)
        found = [
            {"label": label, "name": held.name(label), "distance": distance}
            for label, distance in zip(labels[0].tolist(), distances[0].tolist(), strict=True)
        ]
    return Answer({"shelf": str(shelf), "found": found}, lambda: _found_table(found))


def list_(shelf: Path) -> dict[str, Any]:
    """What a shelf holds, as `everlearn memory list` says it of a record."""
    import numpy as np

    from everlearn.memory import OnDiskMemory

    with OnDiskMemory(shelf) as held:
        names = held.names()
        labels, counts = np.unique(held.labels(), return_counts=True)
        classes = [
            {"label": label, "name": names.get(label, str(label)), "images": count}
            for label, count in zip(labels.tolist(), counts.tolist(), strict=True)
        ]
        return {"shelf": str(shelf), **_size(held), "classes": classes}


def add(shelf: Path, given: Path, label: int | None, name: str | None, screen: Shown) -> Answer:
    """An image, or all images of a folder."""
    from everlearn.memory import OnDiskMemory

    with OnDiskMemory(shelf) as held:
        before = len(held)
        if given.is_dir():
            if label is not None or name is not None:
                raise BadInput("images of a folder are named after their files; leave --label and --name out")
            with screen.progress(f"Filling {shelf}") as progress:
                _add_folder(held, given, progress)
        else:
            _add_one(held, given, label, name)
        facts = {"shelf": str(shelf), "added": len(held) - before, **_size(held)}
    words = "1 image was added" if facts["added"] == 1 else f"{facts['added']:,} images were added"
    return Answer(facts, lambda: _said(facts, words))


def rename(shelf: Path, word: str, name: str) -> Answer:
    """Another name for a class."""
    from everlearn.memory import OnDiskMemory

    with OnDiskMemory(shelf) as held:
        label = _label(held, word)
        held.rename(label, name)
    return Answer(
        {"shelf": str(shelf), "label": label, "name": name}, lambda: f"label {label} is called {name}"
    )


def forget(shelf: Path, word: str) -> Answer:
    """Nothing of a class is left in any file."""
    from everlearn.memory import OnDiskMemory

    with OnDiskMemory(shelf) as held:
        label = _label(held, word)
        n_images = held.forget([label])
        facts = {"shelf": str(shelf), "label": label, "forgotten": n_images, **_size(held)}
    count = "1 image" if n_images == 1 else f"{n_images:,} images"
    return Answer(facts, lambda: _said(facts, f"label {label} is forgotten: {count} erased from every file"))


def _exemplars(stream: "Stream", tasks: Sequence[int]) -> "Iterator[tuple[int, Batch]]":
    """Exemplars of several tasks together, as many as make one edit, and how many tasks are done then."""
    from everlearn.streams import Batch

    parts: list[Batch] = []
    for done, k in enumerate(tasks, 1):
        parts.append(stream.task(k).exemplars)
        if done == len(tasks) or sum(map(len, parts)) >= BATCH:
            yield done, Batch.concatenate(parts)
            parts = []


def _add_one(shelf: "OnDiskMemory", image: Path, label: int | None, name: str | None) -> None:
    from everlearn.cli.arguments import read_image
    from everlearn.memory.on_disk.store import MAX_LABEL

    chosen = _next_label(shelf) if label is None else label
    check_range("label", chosen, 0, MAX_LABEL)
    pixels = read_image(image, shelf.image_shape)
    shelf.add([chosen], pixels[None], None if name is None else [name])


def _add_folder(shelf: "OnDiskMemory", folder: Path, progress: Progress) -> None:
    """Classes whose name is on the shelf are passed over, so a second time goes on where the first ended."""
    classes = _classes_in(folder)
    known = set(shelf.names().values())
    new = ((name, files) for name, files in classes.items() if name not in known)
    done = len(known & classes.keys())
    for some in _batches(new):
        _add_classes(shelf, some)
        done += len(some)
        progress(done, len(classes), f"{len(shelf):,} images")


def _add_classes(shelf: "OnDiskMemory", classes: list[Named]) -> None:
    """First images in one edit, with their names, so that whoever has a name has an image."""
    import numpy as np

    from everlearn.cli.arguments import read_image

    start, names = _next_label(shelf), [name for name, _ in classes]
    read = [[read_image(file, shelf.image_shape) for file in files] for _, files in classes]
    shelf.add(start + np.arange(len(names)), np.stack([images[0] for images in read]), names)
    more = [(start + i, image) for i, images in enumerate(read) for image in images[1:]]
    if more:
        shelf.add([label for label, _ in more], np.stack([image for _, image in more]))


def _classes_in(folder: Path) -> dict[str, list[Path]]:
    """Images by class: a sub-folder is one, named like it, and so is each loose image."""
    from everlearn.streams.images.decode import SUFFIXES

    classes: dict[str, list[Path]] = {}
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith("."):
            name = path.stem if path.parent == folder else path.parent.name
            classes.setdefault(name, []).append(path)
    if not classes:
        raise BadInput(f"{str(folder)!r} holds no images; name an image, or a folder of some")
    return classes


def _batches(classes: Iterable[Named]) -> Iterator[list[Named]]:
    rest = iter(classes)
    while some := list(islice(rest, BATCH)):
        yield some


def _next_label(shelf: "OnDiskMemory") -> int:
    return int(shelf.classes()[-1]) + 1 if len(shelf) else 0


def _label(shelf: "OnDiskMemory", word: str) -> int:
    """The class that a label or a name stands for."""
    names = shelf.names()
    named = [label for label, name in names.items() if name == word]
    if len(named) > 1:
        raise BadInput(f"{word!r:.80} names {len(named)} classes; say which by its label")
    if named:
        return named[0]
    if not (word.isascii() and word.isdecimal()):
        raise unknown("class", word[:80], names.values())
    if int(word[:18]) not in shelf:
        raise BadInput(f"nothing is remembered of label {word:.80}; `everlearn memory list` shows all labels")
    return int(word)


def _size(shelf: "OnDiskMemory") -> dict[str, int]:
    return {"images": len(shelf), "bytes": shelf.disk_bytes, "ram_bytes": shelf.nbytes}


def _said(facts: dict[str, Any], words: str) -> str:
    return f"{words}; {facts['images']:,} images are on {facts['shelf']}, {facts['bytes']:,} bytes"


def _found_table(found: list[dict[str, Any]]) -> Any:
    from everlearn.cli.output import table

    if not found:
        return "the shelf is empty"
    rows = [(str(each["label"]), each["name"], f"{each['distance']:,.0f}") for each in found]
    return table(("label", "name", "distance"), rows)
