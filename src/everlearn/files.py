"""Atomic file writes, checksums, and the lock that gives one process access to a folder."""

import errno
import hashlib
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

from everlearn.errors import BadInput

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

CHUNK_BYTES = 1 << 20
LOCK = ".lock"
LOCKED_BYTE = 1 << 30
"""Position of the byte that Windows locks: behind the content, which other processes read."""
POLL_INTERVAL, RENAME_TIMEOUT = 0.05, 2.0
_HOLDER = re.compile(r"process (\d+) on (.+)")
# Errors that another path would avoid, as classes and as numbers.
_PATH_ERRORS = (PermissionError, FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError)
_PATH_ERROR_NUMBERS = (errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO)


class DiskFull(BadInput):
    """No space left on the device; existing files are unchanged."""


class Disk:
    """The operations that change a disk, one method each; tests replace it to inject faults.

    Symbolic links are not followed, so that an untrusted folder cannot redirect a write.
    """

    def open(self, path: Path, flags: int) -> int:
        """Open or create a file; returns the file descriptor."""
        if sys.platform != "win32":
            return os.open(path, flags | os.O_NOFOLLOW, 0o644)
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return os.open(path, flags | os.O_BINARY, 0o644)

    def write(self, file: int, data: bytes | memoryview) -> int:
        """Write once; returns the number of bytes written."""
        return os.write(file, data)

    def sync(self, file: int) -> None:
        """Flush a file, or the entries of a folder, to the device."""
        if sys.platform == "darwin":
            # Some file systems have only fsync, which leaves data in the drive's cache.
            with suppress(OSError):
                fcntl.fcntl(file, fcntl.F_FULLFSYNC)
                return
        os.fsync(file)

    def truncate(self, file: int, size: int) -> None:
        """Truncate an open file."""
        os.ftruncate(file, size)

    def make_folder(self, path: Path) -> None:
        """Make one folder."""
        path.mkdir()

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file, replacing an existing one."""
        end = time.monotonic() + RENAME_TIMEOUT
        while True:
            try:
                old.replace(new)
                return
            except PermissionError:  # on Windows also while another process reads the existing file
                if sys.platform != "win32" or time.monotonic() > end:
                    raise
            time.sleep(POLL_INTERVAL)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()


disk = Disk()


def write(path: Path, data: bytes) -> None:
    """Write a file atomically: a reader sees either the old or the new content."""
    temporary = path.with_name(f".{path.name}.new")
    with os_error_context(path):
        file = disk.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        try:
            write_all(file, data)
            disk.sync(file)
            # Read back what was written: some file systems report success and store nothing.
            os.lseek(file, 0, os.SEEK_SET)
            for start in range(0, len(data) + 1, CHUNK_BYTES):
                if os.read(file, CHUNK_BYTES) != data[start : start + CHUNK_BYTES]:
                    raise OSError(errno.EIO, "the data read back differs from the data written", str(path))
        finally:
            os.close(file)
        disk.rename(temporary, path)
        sync_folder(path.parent)


def check_output(path: Path, endings: Sequence[str]) -> Path:
    """The path; raises an error unless a file with one of these endings can be written to it."""
    if "\0" in str(path) or path.suffix.lower() not in endings:
        raise BadInput(f"cannot write {str(path)!r}; give a name that ends in {' or '.join(endings)}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"cannot write {str(path)!r}; give the name of a file in a folder that exists")
    return path


def remove(path: Path) -> None:
    """Remove a file if it exists."""
    if path.is_symlink() or path.exists():
        with os_error_context(path):
            disk.remove(path)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, and flush their entries to the device."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with os_error_context(path):
        try:
            disk.make_folder(path)
        except FileExistsError:
            if not path.is_dir():  # if it is one, another process has made it in the meantime
                raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the device; Windows does it without a call."""
    if sys.platform == "win32":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        disk.sync(file)
    finally:
        os.close(file)


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all bytes, in as many calls as needed."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(file, rest) :]


def read_at(file: int, size: int, offset: int) -> bytes:
    """Read from a position of an open file."""
    if sys.platform != "win32":
        return os.pread(file, size, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)


def sha256(data: bytes | memoryview) -> str:
    """The SHA-256 checksum in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def size_and_sha256(file: IO[bytes]) -> tuple[int, str]:
    """The number of bytes of an open file, and their SHA-256 checksum."""
    size, checksum = 0, hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        size += len(chunk)
        checksum.update(chunk)
    return size, checksum.hexdigest()


@contextmanager
def os_error_context(path: Path) -> Iterator[None]:
    """Raise `DiskFull` or `BadInput` for errors of the operating system that the user can resolve."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(path.parent).free
            raise DiskFull(
                f"the disk is full while writing {path} ({free:,} bytes are free); "
                "free some space and try again, no saved file was lost"
            ) from error
        if isinstance(error, _PATH_ERRORS) or error.errno in _PATH_ERROR_NUMBERS:
            raise BadInput(f"cannot write {path}: {error.strerror}; choose a writable folder") from error
        raise


class FolderLock:
    """Lock on a folder, held within a `with` block, or from `acquire` to `release` or the end of the process.

    The lock file states the process that took the exclusive lock last (docs/decisions/0011).

    Args:
        folder: an existing folder.
        name: name of the lock file; None locks the folder itself and leaves no file.
        shared: allow other shared locks at the same time; on Windows they take turns.
        wait: wait until the lock is free; by default an error names the holder.
    """

    message = "{folder} is open in {holder}; wait until it is closed there"

    def __init__(
        self, folder: Path, *, name: str | None = LOCK, shared: bool = False, wait: bool = False
    ) -> None:
        self.folder, self._has_file = folder, name is not None
        self.path = folder if name is None else folder / name
        self._open_flags = os.O_RDONLY if name is None else os.O_CREAT | os.O_RDWR
        if sys.platform == "win32" and name is None:  # a folder cannot be opened
            self.path, self._open_flags = folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_TEMPORARY
        self._shared, self._wait = shared, wait
        self._file = -1

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def __del__(self) -> None:
        if os is not None:  # at interpreter exit modules are None, and the system releases the lock
            self.release()

    def acquire(self) -> Self:
        """Take the lock, unless this object holds it already."""
        if self._file >= 0:
            return self
        with os_error_context(self.path):
            self._file = disk.open(self.path, self._open_flags)
            try:
                self._lock()
            except BaseException:
                self.release()
                raise
        return self

    def release(self) -> None:
        """Release the lock if this object holds it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lock(self) -> None:
        try:
            _lock_file(self._file, shared=self._shared, wait=self._wait)
        except BlockingIOError:
            content = os.read(self._file, 200) if self._has_file else b""
            holder = content.decode(errors="replace").strip() or "another process"
            raise BadInput(self.message.format(folder=self.folder, holder=holder)) from None
        if not self._shared and self._has_file:
            disk.truncate(self._file, 0)
            write_all(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


def _lock_file(file: int, *, shared: bool, wait: bool) -> None:
    """Lock an open file until it is closed; raises `BlockingIOError` if it is locked and `wait` is false."""
    if sys.platform != "win32":
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    else:
        while not _try_lock(file):
            if not wait:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            time.sleep(POLL_INTERVAL)


if sys.platform == "win32":

    def _try_lock(file: int) -> bool:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True


def lock_holder(folder: Path) -> int | None:
    """The id of the process on this machine that holds the lock of a folder, if there is one.

    Testing a lock means taking it for a moment, which could turn away a process that starts just then. It is
    tested only if the process named in the lock file is alive.
    """
    import psutil  # here, because commands that need no lock start without it

    process = None
    try:
        with (folder / LOCK).open("rb") as file:
            named = _HOLDER.match(file.read(300).decode(errors="replace"))
            if named is None or named[2].strip() != socket.gethostname():
                return None
            if not psutil.pid_exists(int(named[1])):
                return None
            process = int(named[1])
            _lock_file(file.fileno(), shared=True, wait=False)  # until the file is closed
    except BlockingIOError:
        return process
    except (OSError, OverflowError):
        pass
    return None
