"""`everlearn teach`, `ask`, `forget` and `rename`: recognise things from one image each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import check_path
from everlearn.cli.output import NONE, ConsoleArg, Result, counted, table
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.recognition import Answer, Recogniser

FeatureName = Literal["auto", "efficientnet-lite0", "mobilenet-v1", "mobilenet-v1-0.25", "gradients"]
Name = Annotated[str | None, Parameter(name=["--name", "-n"], show_default=False)]


def teach(
    memory: Path,
    /,
    *images: Path,
    name: Name = None,
    features: FeatureName = "auto",
    upright: Annotated[bool, Parameter(negative=())] = False,
    stored: Annotated[Path | None, Parameter(show_default=False, metavar="FILE")] = None,
    console: ConsoleArg,
) -> Result:
    """Teach a memory a thing with one or more images of it; a new memory is created.

    Args:
        memory: Folder of the memory.
        images: Images of one thing; without --name, each is named after its file, and all images in a
            folder after the folder.
        name: Name of the thing.
        features: Of a new memory: what images are compared by.
        upright: Of a new memory: things are always seen upright.
        stored: A .png file that shows what was stored.
    """
    from everlearn.recognition import Recogniser
    from everlearn.streams.images.canonical import read_image

    if not images:
        raise BadInput("no images are given; give at least one, such as mug.jpg")
    if stored is not None:
        files.check_output(stored, [".png"])
    named = [(path, read_image(path), each) for path, each in _named(images, name)]
    taught: list[dict[str, str]] = []
    sheets: list[Any] = []
    with Recogniser.open(check_path(memory), features=features, upright=upright) as recogniser:
        with console.progress(f"Teaching {memory}") as update:
            for done, (path, image, each) in enumerate(named):
                sheets.extend(recogniser.teach(image, each))
                taught.append({"image": str(path), "name": each})
                update(done + 1, len(named), each)
        names = recogniser.names
        data = {
            "memory": str(memory),
            "features": recogniser.features.name,
            "taught": taught,
            "classes": names,
        }
    if stored is not None:
        data["stored"] = str(_save_sheet(sheets, stored))
    what = ", ".join(dict.fromkeys(each["name"] for each in taught))
    where = f"; what was stored is in {stored}" if stored is not None else ""
    return Result(data, lambda: f"taught {what}; {memory} knows {counted(len(names), 'thing')}{where}")


def ask(memory: Path, /, *images: Path, console: ConsoleArg) -> Result:
    """Ask a memory what images show.

    Args:
        memory: Folder of the memory.
        images: Images, or folders of images.
    """
    if not images:
        raise BadInput("no images are given; give at least one, such as photo.jpg")
    paths = [image for image, _ in _named(images, "")]
    with _open(memory) as recogniser, console.progress(f"Asking {memory}") as update:
        answers = []
        for done, path in enumerate(paths):
            answers.append(_as_data(path, recogniser.ask([path])[0]))
            update(done + 1, len(paths), answers[-1]["name"] or "unknown")
    titles = ("image", "name", "confidence", "status", "runner-up", "compared by")
    return Result({"memory": str(memory), "answers": answers}, lambda: table(titles, map(_row, answers)))


def forget(memory: Path, name: str, /) -> Result:
    """Erase a class from a memory; no file keeps a byte of it.

    Args:
        memory: Folder of the memory.
        name: Name of the class.
    """
    with _open(memory) as recogniser:
        n = recogniser.forget(name)
        names = recogniser.names
    data = {"memory": str(memory), "forgotten": name, "exemplars": n, "classes": names}
    return Result(
        data,
        lambda: f"erased {name}: {counted(n, 'exemplar')}; {memory} knows {counted(len(names), 'thing')}",
    )


def rename(memory: Path, old: str, new: str, /) -> Result:
    """Rename a class of a memory.

    Args:
        memory: Folder of the memory.
        old: Its name.
        new: Its new name.
    """
    with _open(memory) as recogniser:
        recogniser.rename(old, new)
        names = recogniser.names
    return Result({"memory": str(memory), "classes": names}, lambda: f"{old} is now {new}")


def list_classes(memory: Path) -> Result:
    """The classes of a memory, as `everlearn list` shows them."""
    with _open(memory) as recogniser:
        classes = [{"name": name, "images": recogniser.n_images(name)} for name in recogniser.names]
        data = {"memory": str(memory), "features": recogniser.features.name, "classes": classes}
    rows = [(str(each["name"]), str(each["images"])) for each in classes]
    return Result(data, lambda: table(("name", "images"), rows) if rows else f"{memory} knows nothing yet")


def is_recogniser(folder: Path) -> bool:
    """Whether a folder is a memory of `everlearn teach`."""
    from everlearn.memory.on_disk.metadata import METADATA, read_metadata

    return (folder / METADATA).is_file() and "features" in read_metadata(folder).get("settings", {})


@contextmanager
def _open(memory: Path) -> "Iterator[Recogniser]":
    from everlearn.memory.on_disk.metadata import METADATA
    from everlearn.recognition import Recogniser

    if not (check_path(memory) / METADATA).is_file():
        raise BadInput(
            f"there is no memory in {str(memory)!r}; make one with `everlearn teach {memory} IMAGE`"
        )
    with Recogniser(memory) as recogniser:
        yield recogniser


def _named(images: tuple[Path, ...], name: str | None) -> Iterator[tuple[Path, str]]:
    """Images and their names; folders are replaced by the images in them."""
    from everlearn.streams.images.decode import SUFFIXES

    for path in map(check_path, images):
        if not path.is_dir():
            yield path, path.stem if name is None else name
            continue
        inside = sorted(each for each in path.iterdir() if each.suffix.lower() in SUFFIXES)
        if not inside:
            raise BadInput(f"{str(path)!r} has no images; put some there, or name files")
        yield from ((each, path.name if name is None else name) for each in inside)


def _as_data(path: Path, answer: "Answer") -> dict[str, Any]:
    return {
        "image": str(path),
        "name": answer.name,
        "best": answer.best,
        "status": answer.status,
        "confidence": round(answer.confidence, 4),
        "runner_up": answer.runner_up,
        "method": answer.method,
    }


def _row(answer: dict[str, Any]) -> tuple[str, ...]:
    shown = answer["name"] or (f"unknown (nearest: {answer['best']})" if answer["best"] else "unknown")
    confidence = f"{answer['confidence']:.2f}"
    return (
        answer["image"],
        shown,
        confidence,
        answer["status"],
        answer["runner_up"] or NONE,
        answer["method"],
    )


def _save_sheet(exemplars: list[Any], path: Path) -> Path:
    """Stored exemplars on a checkerboard, which shows what is transparent."""
    import numpy as np

    from everlearn import reports

    size = len(exemplars[0])
    y, x = np.indices((size, size))
    board = np.where((x // 8 + y // 8) % 2, 255, 205)[..., None]
    images = []
    for each in exemplars:
        alpha = each[..., 3:] / 255
        images.append((each[..., :3] * alpha + board * (1 - alpha)).round().astype(np.uint8))
    return reports.save(reports.image_sheet(np.stack(images), columns=min(8, len(images))), path)
