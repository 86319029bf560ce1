"""Omniglot: handwritten characters of many alphabets, in zip files or folders."""

from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import FileDataset, Pixels, read_file
from everlearn.streams.images.sources import OMNIGLOT_SETS, SOURCES
from everlearn.streams.images.tree import listed, name_order, open_archive, read_member, readable


def open_omniglot(data: Path | None = None) -> FileDataset:
    """All available characters, sorted by alphabet and number; gray levels are coverage.

    The published sets (images_background, images_evaluation and the small ones) are merged.
    """
    folder = SOURCES["omniglot"].locate(data)
    return FileDataset(files=_index(folder), read=partial(_read, folder), prepare=_coverage)


def _index(folder: Path) -> dict[str, list[str]]:
    characters: dict[str, list[str]] = {}
    for name in OMNIGLOT_SETS:  # if a character is in several sets, the first one is used
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
        files = open_archive(archive).namelist() if archive.is_file() else []
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
    return read_member(folder / f"{file.split('/')[0]}.zip", file)


def _coverage(rgba: Pixels) -> Pixels:
    return 255 - rgba[..., :1]
