"""Any folder of pictures: a sub-folder per class, or a single picture per class."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.pictures.collection import Pixels
from everlearn.streams.pictures.decode import SUFFIXES, gray, premultiplied, reduced
from everlearn.streams.pictures.gallery import Gallery, read_file
from everlearn.streams.pictures.places import data_root, listed, readable

# Drawing pixels kept per pixel shown at canonical size; leaves room for scales up to 2 without blur.
FINENESS = 2


def open_folder(path: Path, *, drawn_size: int, rgb: bool = True) -> Gallery:
    """The pictures of a folder, found by name and not yet opened.

    A sub-folder is a class, named like it; empty ones are passed over. A folder without sub-folders,
    such as a set of icons, is one class per picture. Hidden files and files that are not pictures by
    their names are passed over. Classes and pictures are in the order of their names.

    Args:
        path: the folder, from here or from the folder EVERLEARN_DATA names.
        drawn_size: the size at which they will be shown, in pixels; larger pictures are averaged down to
            between two and four times that before they are kept.
        rgb: keep colours, or only light and shade.
    """
    root = data_root(path, "the folder of pictures")
    prepare = prepare_picture(drawn_size, rgb=rgb)
    return Gallery(files=_index(root), read=partial(read_below, root), prepare=prepare)


def prepare_picture(drawn_size: int, *, rgb: bool) -> Callable[[Pixels], Pixels]:
    """What makes of a decoded file the drawing that is kept."""
    return partial(_prepare, side=FINENESS * drawn_size, rgb=rgb)


def _index(root: Path) -> dict[str, list[str]]:
    loose = [entry.name for entry in listed(root) if is_picture(entry)]
    folders = [entry.name for entry in listed(root) if entry.is_dir()]
    classes = {readable(name): _pictures_in(root, name) for name in folders}
    found = {name: pictures for name, pictures in classes.items() if pictures}
    if found and loose:
        raise BadInput(
            f"{str(root)!r} holds both class folders and loose pictures (such as {loose[0]!r}); "
            "move the loose ones into a folder of their class"
        )
    if not found and not loose:
        raise BadInput(
            f"{str(root)!r} holds no pictures; put one sub-folder per class there, with pictures in it "
            f"({', '.join(SUFFIXES)})"
        )
    return found or {name: [file] for name, file in zip(_stems(loose), loose, strict=True)}


def _stems(files: list[str]) -> list[str]:
    """Names without their endings, unless two would then be the same."""
    stems = [readable(Path(file).stem) for file in files]
    return stems if len(set(stems)) == len(files) else [readable(file) for file in files]


def _pictures_in(root: Path, name: str) -> list[str]:
    return [f"{name}/{entry.name}" for entry in listed(root / name) if is_picture(entry)]


def is_picture(entry: "os.DirEntry[str]") -> bool:
    """Whether a file is a picture by its name."""
    return entry.name.lower().endswith(SUFFIXES) and entry.is_file()


def read_below(root: Path, name: str) -> bytes:
    """The bytes of a file that is named from a folder on."""
    return read_file(root / name)


def _prepare(rgba: Pixels, *, side: int, rgb: bool) -> Pixels:
    kept = reduced(premultiplied(rgba), side)
    return kept if rgb else gray(kept)
