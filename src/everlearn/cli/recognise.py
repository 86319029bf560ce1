"""`everlearn teach`, `ask`, `forget` and `rename`: recognise things from one image each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import Whole, check_path
from everlearn.cli.output import NONE, CommandResult, ConsoleArg, counted, table
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.recognition import Answer, Recogniser

Policy = Literal["first", "random", "herding"]
Combine = Literal["vote", "best"]
Name = Annotated[str | None, Parameter(name=["--name", "-n"], show_default=False)]


def teach(
    memory: Path,
    /,
    *images: Path,
    name: Name = None,
    features: str = "auto",
    weights: Annotated[Path | None, Parameter(show_default=False, metavar="FILE")] = None,
    upright: Annotated[bool, Parameter(negative=())] = False,
    keep: Annotated[Whole | None, Parameter(show_default=False)] = None,
    policy: Annotated[Policy | None, Parameter(show_default=False)] = None,
    combine: Annotated[Combine | None, Parameter(show_default=False)] = None,
    stored: Annotated[Path | None, Parameter(show_default=False, metavar="FILE")] = None,
    console: ConsoleArg,
) -> CommandResult:
    """Teach a memory a thing with one or more images of it; a new memory is created.

    Args:
        memory: Folder of the memory.
        images: Images of one thing; without --name, each is named after its file, and all images in a
            folder after the folder.
        name: Name of the thing.
        features: Of a new memory: what images are compared by: auto, efficientnet-lite0, mobilenet-v1,
            mobilenet-v1-0.25 or gradients; with --weights, also any other backbone.
        weights: Of a new memory: a .safetensors file, as `everlearn pretrain` writes it; the memory gets a
            copy.
        upright: Of a new memory: things are always seen upright.
        keep: Images of each thing that are kept from now on; a new memory keeps all.
        policy: Which ones are kept; a new memory keeps the first ones. Herding keeps those whose mean is
            nearest to the mean of all that were taught.
        combine: Whether all images of a thing vote, as in a new memory, or only the best one counts.
        stored: A .png file that shows what was stored.
    """
    from everlearn.memory.on_disk.labels import checked_name
    from everlearn.recognition import Recogniser
    from everlearn.recognition.exemplars import check_taught_once

    if not images:
        raise BadInput("no images are given; give at least one, such as mug.jpg")
    if stored is not None:
        files.check_output(stored, [".png"])
    _check_names(images, name)
    named = [(path, _read_and_check(path), checked_name(each)) for path, each in _named(images, name)]
    check_taught_once((pixels, each) for _, (_, pixels), each in named)  # before a memory is created
    taught: list[dict[str, str]] = []
    sheets: list[Any] = []
    options: Any = {
        "features": features, "weights": weights, "upright": upright,
        "keep": keep, "policy": policy, "combine": combine,
    }  # fmt: skip
    with Recogniser.open(check_path(memory), **options) as recogniser:
        recogniser.check([pixels for _, (_, pixels), _ in named], [each for _, _, each in named])
        with console.progress(f"Teaching {memory}") as update:
            for done, (path, (image, _), each) in enumerate(named):
                sheets.extend(recogniser.teach(image, each))
                taught.append({"image": str(path), "name": each})
                update(done + 1, len(named), each)
        names = recogniser.names
        data = {
            "memory": str(memory),
            "features": recogniser.features.name,
            "kept": asdict(recogniser.selection),
            "taught": taught,
            "classes": names,
        }
    if stored is not None:
        data["stored"] = str(_save_sheet(sheets, stored))
    what = ", ".join(dict.fromkeys(each["name"] for each in taught))
    where = f"; what was stored is in {stored}" if stored is not None else ""
    return CommandResult(data, lambda: f"taught {what}; {memory} knows {counted(len(names), 'thing')}{where}")


def ask(
    memory: Path,
    /,
    *images: Path,
    keep_unknown: Annotated[bool, Parameter(negative=())] = False,
    interactive: Annotated[bool, Parameter(negative=())] = False,
    console: ConsoleArg,
) -> CommandResult:
    """Ask a memory what images show.

    Args:
        memory: Folder of a memory, or of a record whose learner has exemplars, such as dcl.
        images: Images, or folders of images.
        keep_unknown: Store unknown images, and count how often the same thing is seen.
        interactive: Also ask for the name of each unknown thing, once.
    """
    if not images:
        raise BadInput("no images are given; give at least one, such as photo.jpg")
    paths = [image for image, _ in _named(images, "")]
    if _is_record(memory):
        if keep_unknown or interactive:
            raise BadInput(f"{memory} is the record of a run, which keeps no unknown images; omit the option")
        from everlearn.cli.ask_record import ask_record

        return ask_record(memory, paths, console)
    if keep_unknown or interactive:  # before anything is stored
        from everlearn.recognition.exemplars import read_object

        for path in paths:
            with _errors_with_path(path):
                read_object(path)
    with opened(memory) as recogniser:
        if interactive:
            answers = list(_ask_with_questions(recogniser, paths))
        else:
            with console.progress(f"Asking {memory}") as update:
                answers = []
                for done, path in enumerate(paths):
                    with _errors_with_path(path):
                        answer = (recogniser.ask_and_keep if keep_unknown else recogniser.ask)([path])[0]
                    answers.append(_as_data(path, answer))
                    update(done + 1, len(paths), answer.name or "unknown")
    titles = ("image", "name", "confidence", "status", "runner-up", "compared by")
    return CommandResult(
        {"memory": str(memory), "answers": answers}, lambda: table(titles, map(_row, answers))
    )


def forget(memory: Path, name: str, /) -> CommandResult:
    """Erase a class from a memory; no file keeps a byte of it.

    Args:
        memory: Folder of the memory.
        name: Name of the class.
    """
    with opened(memory) as recogniser:
        n = recogniser.forget(name)
        names = recogniser.names
    data = {"memory": str(memory), "forgotten": name, "exemplars": n, "classes": names}
    return CommandResult(
        data,
        lambda: f"erased {name}: {counted(n, 'exemplar')}; {memory} knows {counted(len(names), 'thing')}",
    )


def rename(memory: Path, old: str, new: str, /) -> CommandResult:
    """Rename a class of a memory.

    Args:
        memory: Folder of the memory.
        old: Its name.
        new: Its new name.
    """
    with opened(memory) as recogniser:
        recogniser.rename(old, new)
        names = recogniser.names
    return CommandResult({"memory": str(memory), "classes": names}, lambda: f"{old} is now {new}")


def list_classes(memory: Path) -> CommandResult:
    """The classes of a memory, as `everlearn list` shows them."""
    with opened(memory) as recogniser:
        classes = [{"name": name, "images": recogniser.n_images(name)} for name in recogniser.names]
        data = {"memory": str(memory), "features": recogniser.features.name, "classes": classes}
    rows = [(str(each["name"]), str(each["images"])) for each in classes]
    return CommandResult(
        data, lambda: table(("name", "images"), rows) if rows else f"{memory} knows nothing yet"
    )


def is_recogniser(folder: Path) -> bool:
    """Whether a folder is a memory of `everlearn teach`."""
    from everlearn.memory.on_disk.metadata import METADATA, read_metadata

    return (folder / METADATA).is_file() and "features" in read_metadata(folder).get("settings", {})


def _is_record(folder: Path) -> bool:
    """Whether a folder is the record of a run, and no memory."""
    from everlearn.memory.on_disk.metadata import METADATA

    if (check_path(folder) / METADATA).is_file():
        return False
    from everlearn.runs.run_record import SPEC  # only then, since it takes time

    return (folder / SPEC).is_file()


@contextmanager
def opened(memory: Path) -> "Iterator[Recogniser]":
    """A memory that exists."""
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


def _check_names(images: tuple[Path, ...], name: str | None) -> None:
    """Raise if two of the given files and folders have the same name, since they may be two things."""
    first: dict[str, Path] = {}
    for path in images if name is None else ():
        word = path.resolve().name if path.is_dir() else path.stem
        if (other := first.setdefault(word, path)) != path:
            raise BadInput(
                f"{str(other)!r} and {str(path)!r} would both be taught as {word!r}; rename one, or give "
                f"--name if they show the same thing"
            )


def _read_and_check(path: Path) -> tuple[Any, Any]:
    """An image, and the exemplars that will be stored of it."""
    from everlearn.recognition.exemplars import exemplars_of
    from everlearn.streams.images.canonical import read_image

    image = read_image(path)
    with _errors_with_path(path):
        return image, exemplars_of(image)


@contextmanager
def _errors_with_path(path: Path) -> Iterator[None]:
    """Replace "the image" in errors by the path of the image."""
    try:
        yield
    except BadInput as error:
        raise BadInput(str(error).replace("the image", str(path), 1)) from None


def _ask_with_questions(recogniser: "Recogniser", paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Answers; the name of each unknown thing is asked for when it is seen first."""
    from everlearn.cli.unknowns import ask_name, check_terminal

    check_terminal()
    skipped: set[int] = set()
    for path in paths:
        answer = recogniser.ask_and_keep([path])[0]
        named = None
        if answer.group is not None and answer.group.number not in skipped:
            named = ask_name(recogniser, path, answer.group)
            skipped |= set() if named else {answer.group.number}
        yield {**_as_data(path, answer), "named": named}


def _as_data(path: Path, answer: "Answer") -> dict[str, Any]:
    from everlearn.cli.unknowns import as_data

    return {
        "image": str(path),
        "name": answer.name,
        "best": answer.best,
        "status": answer.status,
        "confidence": round(answer.confidence, 4),
        "runner_up": answer.runner_up,
        "method": answer.method,
        "group": None if answer.group is None else as_data(answer.group),
    }


def _row(answer: dict[str, Any]) -> tuple[str, ...]:
    group = answer["group"]
    seen = f" {group['number']}, seen {counted(group['images'], 'time')}" if group else ""
    nearest = f" (nearest: {answer['best']})" if answer["best"] else ""
    shown = answer.get("named") or answer["name"] or f"unknown{seen}{nearest}"
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
