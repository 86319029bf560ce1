"""Disks with faults at any single operation."""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everlearn.files import Disk

Operation = Callable[[], Any]

BEFORE, TORN, AFTER = "before", "torn", "after"


class CountingDisk(Disk):
    """Counts the operations that change the disk; each goes through `operate`."""

    def __init__(self) -> None:
        self.n_operations = 0
        self.writes: list[int] = []

    def operate(self, name: str, do: Operation, torn: Operation) -> Any:
        """Do an operation; `torn` does half of it."""
        self.n_operations += 1
        if name == "write":
            self.writes.append(self.n_operations)
        return do()

    def open(self, path: Path, flags: int) -> int:
        return int(self.operate("open", lambda: Disk.open(self, path, flags), lambda: None))

    def write(self, file: int, data: bytes | memoryview) -> int:
        half = data[: len(data) // 2]
        return int(
            self.operate("write", lambda: Disk.write(self, file, data), lambda: Disk.write(self, file, half))
        )

    def sync(self, file: int) -> None:
        self.operate("sync", lambda: Disk.sync(self, file), lambda: None)

    def truncate(self, file: int, size: int) -> None:
        self.operate("truncate", lambda: Disk.truncate(self, file, size), lambda: None)

    def make_folder(self, path: Path) -> None:
        self.operate("make_folder", lambda: Disk.make_folder(self, path), lambda: None)

    def rename(self, old: Path, new: Path) -> None:
        self.operate("rename", lambda: Disk.rename(self, old, new), lambda: None)

    def remove(self, path: Path) -> None:
        self.operate("remove", lambda: Disk.remove(self, path), lambda: None)


class CrashingDisk(CountingDisk):
    """Ends the process at the n-th operation: before it, after it, or in the middle of a write."""

    def __init__(self, at: int, mode: str) -> None:
        super().__init__()
        self.at, self.mode = at, mode

    def operate(self, name: str, do: Operation, torn: Operation) -> Any:
        self.n_operations += 1
        if self.n_operations == self.at:
            {BEFORE: lambda: None, TORN: torn, AFTER: do}[self.mode]()
            os._exit(77)
        return do()


class SnapshotDisk(CountingDisk):
    """Copies the state of a folder before, within and after each operation, as a crash would leave it.

    Most operations change no byte (open, sync), so each distinct state is copied once.

    Args:
        folder: the folder that is written to.
        snapshots: folder for the states, named by checksum; a missing folder is not copied.
    """

    def __init__(self, folder: Path, snapshots: Path) -> None:
        super().__init__()
        self._folder, self._snapshots = folder, snapshots
        self.crash_points: list[tuple[int, str, str]] = []

    def operate(self, name: str, do: Operation, torn: Operation) -> Any:
        self._snapshot(self.n_operations + 1, BEFORE)
        result = super().operate(name, do, torn)
        self._snapshot(self.n_operations, AFTER)
        return result

    def write(self, file: int, data: bytes | memoryview) -> int:
        half = len(data) // 2

        def in_two_parts() -> int:
            n = Disk.write(self, file, data[:half])
            self._snapshot(self.n_operations, TORN)
            return n + Disk.write(self, file, data[half:])

        return int(self.operate("write", in_two_parts, in_two_parts))

    def _snapshot(self, at: int, mode: str) -> None:
        state = checksum(self._folder)
        self.crash_points.append((at, mode, state))
        if self._folder.exists() and not (self._snapshots / state).exists():
            shutil.copytree(self._folder, self._snapshots / state)


def checksum(folder: Path) -> str:
    """Hash of all names and contents in a folder, except the content of the lock, which is a process id."""
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        sha.update(f"\0{path.relative_to(folder)}\0".encode())
        sha.update(path.read_bytes() if path.is_file() and path.name != ".lock" else b"")
    return sha.hexdigest()[:16]


class FullDisk(CountingDisk):
    """Has no space from the n-th operation on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def operate(self, name: str, do: Operation, torn: Operation) -> Any:
        self.n_operations += 1
        if self.n_operations >= self.at and name in ("write", "make_folder"):
            torn()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return do()
