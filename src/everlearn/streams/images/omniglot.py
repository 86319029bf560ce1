"""Omniglot: handwritten characters of many alphabets, in zip files or folders."""

import io
import zipfile
import zlib
from functools import lru_cache, partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import FileDataset, Pixels, read_file
from everlearn.streams.images.decode import MAX_FILE_BYTES
from everlearn.streams.images.folder import data_root, first_folder, listed, name_order, readable

# If a character is in several sets, the first one is used.
SETS = ("images_background", "images_evaluation", "images_background_small1", "images_background_small2")
MAX_ARCHIVE_BYTES = 2**28


def open_omniglot(data: Path | None = None) -> FileDataset:
    """All available characters, sorted by alphabet and number; gray levels are coverage.

    The published sets (images_background, images_evaluation and the small ones) are merged.
    """
    root = data_root(data, "omniglot")
    folder = first_folder(root, ("omniglot", "omniglot-py"), (*SETS, *(f"{name}.zip" for name in SETS)))
    if folder is None:
        raise BadInput(
            f"omniglot is not in {str(root)!r}; copy images_background.zip, images_evaluation.zip or the "
            f"small sets, zipped or unzipped, to {str(root / 'omniglot')!r}"
        )
    return FileDataset(files=_index(folder), read=partial(_read, folder), prepare=_coverage)


def _index(folder: Path) -> dict[str, list[str]]:
    characters: dict[str, list[str]] = {}
    for name in SETS:
        for character, files in _characters(folder, name).items():
            characters.setdefault(character, files)
    if not characters:
        raise BadInput(
            f"the sets in {str(folder)!r} contain no alphabet/character/*.png; use the original sets"
        )
    return {readable(name): characters[name] for name in sorted(characters, key=name_order)}


def _characters(folder: Path, name: str) -> dict[str, list[str]]:
    """The files of each character of one set: "Greek/character03" -> files."""
    archive = folder / f"{name}.zip"
    if (folder / name).is_dir():
        files = _tree(folder / name, name, depth=3)
    else:
        files = _archive(archive).namelist() if archive.is_file() else []
    characters: dict[str, list[str]] = {}
    for file in sorted(files, key=name_order):
        parts = file.split("/")
        if len(parts) == 4 and parts[0] == name and file.endswith(".png"):
            characters.setdefault(f"{parts[1]}/{parts[2]}", []).append(file)
    return characters


def _tree(folder: Path, name: str, depth: int) -> list[str]:
    """The entries `depth` levels below a folder."""
    if depth == 0:
        return [name]
    entries = [entry.name for entry in listed(folder) if entry.is_dir() or depth == 1]
    return [path for entry in entries for path in _tree(folder / entry, f"{name}/{entry}", depth - 1)]


def _read(folder: Path, file: str) -> bytes:
    if (folder / file).is_file():
        return read_file(folder, file)
    archive = folder / f"{file.split('/')[0]}.zip"
    try:
        size = _archive(archive).getinfo(file).file_size
        if size > MAX_FILE_BYTES:
            raise zipfile.BadZipFile(f"it claims {size} bytes; an image may have {MAX_FILE_BYTES}")
        return _archive(archive).read(file)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadInput(
            f"{file!r} in {str(archive)!r} is damaged ({error}); replace the zip file with an undamaged copy"
        ) from None


@lru_cache(maxsize=8)
def _archive(path: Path) -> zipfile.ZipFile:
    # Read into memory, so that forked processes do not share a file position.
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise BadInput(f"{str(path)!r} is larger than any set of Omniglot; use the original file")
    try:
        return zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise BadInput(
            f"{str(path)!r} is not a complete zip file ({error}); replace it with an undamaged copy"
        ) from None


def _coverage(rgba: Pixels) -> Pixels:
    return 255 - rgba[..., :1]
