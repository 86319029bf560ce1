"""Files that are whole or absent, whatever happens while they are written.

A file is written beside its target, forced to the disk, read back, and only then given its name. All acts
that change the disk go through `disk`, so that tests can make any single one of them fail.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everlearn.errors import BadInput


class DiskFull(BadInput):
    """The disk has no room; what was there before is untouched."""


class Disk:
    """The acts that change a disk, one method each."""

    def open(self, path: Path, flags: int) -> int:
        """Open or create a file."""
        return os.open(path, flags, 0o644)

    def write(self, file: int, data: bytes | memoryview) -> int:
        """Write some bytes; says how many went through."""
        return os.write(file, data)

    def sync(self, file: int) -> None:
        """Force a file (or a folder's list of names) to the disk."""
        os.fsync(file)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file to a size."""
        os.truncate(path, size)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file its final name, replacing what had it."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Take a file away."""
        os.unlink(path)


disk = Disk()


def write(path: Path, data: bytes) -> None:
    """Put `data` under `path`, entirely or not at all."""
    beside = path.with_name(f".{path.name}.new")
    with told_apart(path):
        _write_synced(beside, data)
        disk.rename(beside, path)
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Take a file away if it is there."""
    if path.exists():
        with told_apart(path):
            disk.remove(path)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        disk.sync(file)
    finally:
        os.close(file)


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write every byte, however many calls it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(file, rest) :]


def sha256(data: bytes | memoryview) -> str:
    """The checksum we write beside files."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def told_apart(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into sentences."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"the disk is full while writing {path}; free some space and resume, nothing saved was lost"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise BadInput(f"cannot write {path}: {error.strerror}; choose a folder you may write to") from error
        raise


def _write_synced(path: Path, data: bytes) -> None:
    file = disk.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        write_all(file, data)
        disk.sync(file)
    finally:
        os.close(file)
