"""One process per folder: a lock that dies with its holder."""

import errno
import fcntl
import hashlib
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from everlearn.errors import BadInput

PIECE = 1 << 20
"""Bytes read at once."""
UNUSABLE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENOENT,
    errno.EEXIST,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENXIO,
)
"""Refusals that another choice of path would have avoided."""


class DiskFull(BadInput):
    """The disk has no room; what was there before is untouched."""


class Disk:
    """The acts that change a disk, one method each.

    A name that is a symbolic link is never followed: a folder from somebody else must not make us write
    elsewhere.
    """

    def open(self, path: Path, flags: int) -> int:
        """Open or create a file."""
        return os.open(path, flags | os.O_NOFOLLOW, 0o644)

    def write(self, file: int, data: bytes | memoryview) -> int:
        """Write some bytes; says how many went through."""
        return os.write(file, data)

    def sync(self, file: int) -> None:
        """Force a file (or a folder's list of names) to the disk."""
        os.fsync(file)

    def truncate(self, file: int, size: int) -> None:
        """Cut an open file to a size."""
        os.ftruncate(file, size)

    def make_folder(self, path: Path) -> None:
        """Make one folder."""
        path.mkdir()

    def rename(self, old: Path, new: Path) -> None:
        """Give a file its final name, replacing what had it."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Take a file away."""
        path.unlink()


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
    if path.is_symlink() or path.exists():
        with told_apart(path):
            disk.remove(path)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, that survive a power cut."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with told_apart(path):
        disk.make_folder(path)
        sync_folder(path.parent)


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
            free = shutil.disk_usage(path.parent).free
            raise DiskFull(
                f"the disk is full while writing {path} ({free:,} bytes are free); "
                "free some space and go on, nothing saved was lost"
            ) from error
        if error.errno in UNUSABLE:
            raise BadInput(
                f"cannot write {path}: {error.strerror}; choose a folder you may write to"
            ) from error
        raise


def _write_synced(path: Path, data: bytes) -> None:
    file = disk.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR)
    try:
        write_all(file, data)
        disk.sync(file)
        _check_written(file, data, path)
    finally:
        os.close(file)


def _check_written(file: int, data: bytes, path: Path) -> None:
    """Some file systems say yes and keep nothing; better to know before the old file is replaced."""
    os.lseek(file, 0, os.SEEK_SET)
    for start in range(0, len(data) + 1, PIECE):
        if os.read(file, PIECE) != data[start : start + PIECE]:  # a copy, but bytes compare faster than views
            raise OSError(errno.EIO, "what was written reads back differently", str(path))


LOCK = ".lock"


class FolderLock:
    """Held inside a block; the operating system frees it when the process ends, in whatever way.

    Args:
        folder: what nobody else may change meanwhile.
    """

    held = "{folder} is open in {holder}; wait until it is closed there"
    """What is said to the second who comes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        self._file = -1

    def __enter__(self) -> Self:
        with told_apart(self.path):
            self._file = disk.open(self.path, os.O_CREAT | os.O_RDWR)
            try:
                self._take()
            except BaseException:
                os.close(self._file)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def _take(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 200).decode(errors="replace").strip() or "another process"
            raise BadInput(self.held.format(folder=self.path.parent, holder=holder)) from None
        disk.truncate(self._file, 0)
        write_all(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
