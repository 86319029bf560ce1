"""Folders of images: one sub-folder per class, or one image per class."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import FileDataset, Pixels, read_file
from everlearn.streams.images.decode import SUFFIXES, gray, premultiplied, reduced

VARIABLE = "EVERLEARN_DATA"
OVERSAMPLING = 2
"""Pixels kept per pixel drawn at scale 1, so that scales up to 2 are sharp."""


def data_root(data: Path | None, wanted: str) -> Path:
    """The folder of a dataset: `data`, or the value of the environment variable EVERLEARN_DATA.

    A relative `data` that does not exist here is searched in EVERLEARN_DATA, so that settings are portable.
    Error messages name the `wanted` dataset.
    """
    common = os.environ.get(VARIABLE)
    if data is None and not common:
        raise BadInput(
            f"the folder of {wanted} is not given; set {VARIABLE} or data= to the folder that contains it"
        )
    candidates = [data.expanduser()] if data is not None else []
    if common:
        candidates.append(Path(common).expanduser() / (data or ""))
    if found := [folder for folder in candidates if folder.is_dir()]:
        return found[0]
    setting = "data" if data is not None else VARIABLE
    raise BadInput(
        f"{setting} is {str(candidates[0])!r}, which is not a folder; give the one that contains {wanted}"
    )


def first_folder(root: Path, names: Iterable[str], files: Sequence[str]) -> Path | None:
    """The first of some sub-folders, or the root itself, that contains one of some files."""
    folders = [*(root / name for name in names), root]
    return next((folder for folder in folders if any((folder / file).exists() for file in files)), None)


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """The visible entries of a folder, in an order that does not depend on file system or locale."""
    try:
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise BadInput(
            f"the folder {str(folder)!r} cannot be read ({error.strerror}); check its permissions"
        ) from None
    return sorted(visible, key=lambda entry: name_order(entry.name))


def name_order(name: str) -> tuple[str, str]:
    """The sort key of names, independent of the Unicode normalization of the file system."""
    return unicodedata.normalize("NFC", name), name


def readable(name: str) -> str:
    """A name that can be printed and written as JSON, also if it is not valid UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def open_folder(path: Path, *, drawn_size: int, rgb: bool = True) -> FileDataset:
    """The images of a folder, indexed by name and decoded on first use.

    Each sub-folder is a class with its name; empty ones are ignored. A folder without sub-folders, such as a
    set of icons, has one class per image. Hidden files and files without an image suffix are ignored. Classes
    and images are sorted by name. Large images are averaged down to two to four times `drawn_size`.
    """
    root = data_root(path, "the folder of images")
    prepare = partial(prepare_image, drawn_size=drawn_size, rgb=rgb)
    return FileDataset(files=_index(root), read=partial(read_file, root), prepare=prepare)


def prepare_image(rgba: Pixels, *, drawn_size: int, rgb: bool) -> Pixels:
    """The image that is kept of decoded pixels."""
    kept = reduced(premultiplied(rgba), OVERSAMPLING * drawn_size)
    return kept if rgb else gray(kept)


def _index(root: Path) -> dict[str, list[str]]:
    files = image_files(root)
    folders = [entry.name for entry in listed(root) if entry.is_dir()]
    classes = {readable(name): image_files(root, name) for name in folders}
    found = {name: images for name, images in classes.items() if images}
    if found and files:
        raise BadInput(
            f"{str(root)!r} contains both class folders and single images (such as {files[0]!r}); "
            "move these into class folders"
        )
    if not found and not files:
        raise BadInput(
            f"{str(root)!r} contains no images; add one sub-folder per class with images in it "
            f"({', '.join(SUFFIXES)})"
        )
    by_stem = {readable(Path(file).stem): [file] for file in files}  # unless two stems are equal
    return found or (by_stem if len(by_stem) == len(files) else {readable(file): [file] for file in files})


def image_files(root: Path, name: str = "") -> list[str]:
    """The files with an image suffix in a sub-folder, as paths relative to the root."""
    entries = [entry for entry in listed(root / name) if entry.name.lower().endswith(SUFFIXES)]
    return [str(Path(name, entry.name)) for entry in entries if entry.is_file()]
