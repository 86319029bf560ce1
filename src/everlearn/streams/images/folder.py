"""Any folder of images: a sub-folder per class, or a single image per class."""

import os
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import Gallery, Pixels, read_file
from everlearn.streams.images.decode import SUFFIXES, gray, premultiplied, reduced

VARIABLE = "EVERLEARN_DATA"


def data_root(data: Path | None, wanted: str) -> Path:
    """The folder to look in: `data` if given, else the one that the variable EVERLEARN_DATA names.

    A relative `data` that is not a folder here is looked for in EVERLEARN_DATA, so that settings can
    travel between machines.

    Args:
        data: the setting.
        wanted: what is looked for, for the complaint.
    """
    common = os.environ.get(VARIABLE)
    if data is None and not common:
        raise BadInput(
            f"nobody said where {wanted} lies; set {VARIABLE}, or data=, to the folder that holds it"
        )
    places = [data.expanduser()] if data is not None else []
    if common:
        places.append(Path(common).expanduser() / (data or ""))
    for place in places:
        if place.is_dir():
            return place
    said = "data" if data is not None else VARIABLE
    raise BadInput(
        f"{said} names {str(places[0])!r}, which is not a folder; name the one that holds {wanted}"
    )


def first_folder(root: Path, names: Iterable[str], files: Iterable[str]) -> Path | None:
    """The first of some sub-folders, or the root itself, that holds one of some files."""
    stems = tuple(files)
    folders = [*(root / name for name in names), root]
    return next((f for f in folders if any((f / stem).exists() for stem in stems)), None)


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder, without hidden things, in an order no file system or language changes."""
    try:
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise BadInput(
            f"the folder {str(folder)!r} cannot be read ({error.strerror}); look at its rights"
        ) from None
    return sorted(visible, key=lambda entry: name_order(entry.name))


def name_order(name: str) -> tuple[str, str]:
    """What names are sorted by: their letters, however the file system composes the accents.

    Example:
        >>> sorted(["b", "Z", "a"], key=name_order)
        ['Z', 'a', 'b']
        >>> name_order("e" + chr(0x301))[0] == name_order(chr(0xE9))[0]
        True
    """
    return unicodedata.normalize("NFC", name), name


def readable(name: str) -> str:
    r"""A name that can be printed and written to JSON, whatever bytes the file system gave.

    Example:
        >>> readable("caf\udce9")
        'caf\\xe9'
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


# Drawing pixels kept per pixel shown at canonical size; leaves room for scales up to 2 without blur.
FINENESS = 2


def open_folder(path: Path, *, drawn_size: int, rgb: bool = True) -> Gallery:
    """The images of a folder, found by name and not yet opened.

    A sub-folder is a class, named like it; empty ones are passed over. A folder without sub-folders,
    such as a set of icons, is one class per image. Hidden files and files that are not images by
    their names are passed over. Classes and images are in the order of their names.

    Args:
        path: the folder, from here or from the folder EVERLEARN_DATA names.
        drawn_size: the size at which they will be shown, in pixels; larger images are averaged down to
            between two and four times that before they are kept.
        rgb: keep colours, or only light and shade.
    """
    root = data_root(path, "the folder of images")
    prepare = prepare_image(drawn_size, rgb=rgb)
    return Gallery(files=_index(root), read=partial(read_below, root), prepare=prepare)


def prepare_image(drawn_size: int, *, rgb: bool) -> Callable[[Pixels], Pixels]:
    """What makes of a decoded file the drawing that is kept."""
    return partial(_prepare, side=FINENESS * drawn_size, rgb=rgb)


def _index(root: Path) -> dict[str, list[str]]:
    loose = [entry.name for entry in listed(root) if is_image(entry)]
    folders = [entry.name for entry in listed(root) if entry.is_dir()]
    classes = {readable(name): _images_in(root, name) for name in folders}
    found = {name: images for name, images in classes.items() if images}
    if found and loose:
        raise BadInput(
            f"{str(root)!r} holds both class folders and loose images (such as {loose[0]!r}); "
            "move the loose ones into a folder of their class"
        )
    if not found and not loose:
        raise BadInput(
            f"{str(root)!r} holds no images; put one sub-folder per class there, with images in it "
            f"({', '.join(SUFFIXES)})"
        )
    return found or {name: [file] for name, file in zip(_stems(loose), loose, strict=True)}


def _stems(files: list[str]) -> list[str]:
    """Names without their endings, unless two would then be the same."""
    stems = [readable(Path(file).stem) for file in files]
    return stems if len(set(stems)) == len(files) else [readable(file) for file in files]


def _images_in(root: Path, name: str) -> list[str]:
    return [f"{name}/{entry.name}" for entry in listed(root / name) if is_image(entry)]


def is_image(entry: "os.DirEntry[str]") -> bool:
    """Whether a file is an image by its name."""
    return entry.name.lower().endswith(SUFFIXES) and entry.is_file()


def read_below(root: Path, name: str) -> bytes:
    """The bytes of a file that is named from a folder on."""
    return read_file(root / name)


def _prepare(rgba: Pixels, *, side: int, rgb: bool) -> Pixels:
    kept = reduced(premultiplied(rgba), side)
    return kept if rgb else gray(kept)
