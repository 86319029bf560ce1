"""Image files in a folder or in a zip file, by name."""

import io
import os
import unicodedata
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import read_file
from everlearn.streams.images.decode import MAX_FILE_BYTES, SUFFIXES

MAX_ARCHIVE_BYTES = 2**28


class FileTree(Protocol):
    """Folders and image files; hidden ones are left out, and all are sorted by name."""

    def folders(self, name: str = "") -> list[str]:
        """The names of the folders in a folder."""

    def images(self, name: str = "") -> list[str]:
        """The files with an image suffix in a folder, as paths from the root."""

    def read(self, file: str) -> bytes:
        """The bytes of a file."""


class FolderTree(FileTree):
    """The files below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folders(self, name: str = "") -> list[str]:
        return [entry.name for entry in listed(self.root / name) if entry.is_dir()]

    def images(self, name: str = "") -> list[str]:
        return image_files(self.root, name)

    def read(self, file: str) -> bytes:
        return read_file(self.root, file)


class ZipTree(FileTree):
    """The files in a zip file; if it contains a single folder, that is the root."""

    def __init__(self, archive: Path) -> None:
        self.root = archive
        names = [name for name in open_archive(archive).namelist() if not name.endswith("/")]
        files = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
        tops = {name.partition("/")[0] + "/" for name in files}
        self._top = tops.pop() if len(tops) == 1 and all("/" in name for name in files) else ""
        self._folders: dict[str, set[str]] = {}
        self._images: dict[str, list[str]] = {}
        for file in sorted((name.removeprefix(self._top) for name in files), key=name_order):
            *parents, name = file.split("/")
            for depth, parent in enumerate(parents):
                self._folders.setdefault("/".join(parents[:depth]), set()).add(parent)
            if name.lower().endswith(SUFFIXES):
                self._images.setdefault("/".join(parents), []).append(file)

    def folders(self, name: str = "") -> list[str]:
        return sorted(self._folders.get(name, ()), key=name_order)

    def images(self, name: str = "") -> list[str]:
        return self._images.get(name, [])

    def read(self, file: str) -> bytes:
        return read_member(self.root, self._top + file)


def open_tree(path: Path) -> FileTree:
    """The files of a folder or a zip file, or of the single zip file that a folder contains."""
    if path.is_file():
        return ZipTree(path)
    entries = [entry.name for entry in listed(path)]
    archives = [name for name in entries if name.lower().endswith(".zip")]
    return ZipTree(path / archives[0]) if len(entries) == len(archives) == 1 else FolderTree(path)


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """The visible entries of a folder, sorted independently of file system and locale."""
    try:
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise BadInput(
            f"the folder {str(folder)!r} cannot be read ({error.strerror}); check its permissions"
        ) from None
    return sorted(visible, key=lambda entry: name_order(entry.name))


def image_files(root: Path, name: str = "") -> list[str]:
    """The files with an image suffix in a sub-folder, as paths relative to the root."""
    entries = [entry for entry in listed(root / name) if entry.name.lower().endswith(SUFFIXES)]
    return [Path(name, entry.name).as_posix() for entry in entries if entry.is_file()]


def name_order(name: str) -> tuple[str, str]:
    """The sort key of names, independent of the Unicode normalization of the file system."""
    return unicodedata.normalize("NFC", name), name


def readable(name: str) -> str:
    """A name that can be printed and written as JSON, even if it is not valid UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@lru_cache(maxsize=8)
def open_archive(path: Path) -> zipfile.ZipFile:
    """A zip file, read into memory, so that forked processes do not share a file position."""
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise BadInput(f"{str(path)!r} has more than {MAX_ARCHIVE_BYTES:,} bytes; unpack it")
    try:
        return zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise BadInput(
            f"{str(path)!r} is not a complete zip file ({error}); replace it with an undamaged copy"
        ) from None


def read_member(archive: Path, file: str) -> bytes:
    """The bytes of an image file in a zip file."""
    try:
        size = open_archive(archive).getinfo(file).file_size
        if size > MAX_FILE_BYTES:
            raise zipfile.BadZipFile(f"it claims {size} bytes; an image may have {MAX_FILE_BYTES}")
        return open_archive(archive).read(file)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadInput(
            f"{file!r} in {str(archive)!r} is damaged ({error}); replace the zip file with an undamaged copy"
        ) from None
