"""Disks on which any single act goes wrong."""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everlearn.files import Disk

Act = Callable[[], Any]

BEFORE, TORN, AFTER = "before", "torn", "after"


class WatchedDisk(Disk):
    """Every act that changes the disk is counted and goes through `act`."""

    def __init__(self) -> None:
        self.n_acts = 0
        self.writes: list[int] = []

    def act(self, name: str, do: Act, torn: Act) -> Any:
        self.n_acts += 1
        if name == "write":
            self.writes.append(self.n_acts)
        return do()

    def open(self, path: Path, flags: int) -> int:
        return int(self.act("open", lambda: Disk.open(self, path, flags), lambda: None))

    def write(self, file: int, data: bytes | memoryview) -> int:
        half = data[: len(data) // 2]
        return int(
            self.act("write", lambda: Disk.write(self, file, data), lambda: Disk.write(self, file, half))
        )

    def sync(self, file: int) -> None:
        self.act("sync", lambda: Disk.sync(self, file), lambda: None)

    def truncate(self, file: int, size: int) -> None:
        self.act("truncate", lambda: Disk.truncate(self, file, size), lambda: None)

    def make_folder(self, path: Path) -> None:
        self.act("make_folder", lambda: Disk.make_folder(self, path), lambda: None)

    def rename(self, old: Path, new: Path) -> None:
        self.act("rename", lambda: Disk.rename(self, old, new), lambda: None)

    def remove(self, path: Path) -> None:
        self.act("remove", lambda: Disk.remove(self, path), lambda: None)


class CrashingDisk(WatchedDisk):
    """The process dies at the n-th act: before it, after it, or in the middle of a write."""

    def __init__(self, at: int, mode: str) -> None:
        super().__init__()
        self.at, self.mode = at, mode

    def act(self, name: str, do: Act, torn: Act) -> Any:
        self.n_acts += 1
        if self.n_acts == self.at:
            {BEFORE: lambda: None, TORN: torn, AFTER: do}[self.mode]()
            os._exit(77)
        return do()


class KeepingDisk(WatchedDisk):
    """Keeps what a death before, in the middle of or after each act would leave of a folder.

    Most acts change no byte (an open, a sync), so most deaths leave the same: each state is kept once.

    Args:
        folder: what is written to.
        kept: where the states go, each under its checksum; nothing is kept there of a missing folder.
    """

    def __init__(self, folder: Path, kept: Path) -> None:
        super().__init__()
        self._folder, self._kept = folder, kept
        self.moments: list[tuple[int, str, str]] = []

    def act(self, name: str, do: Act, torn: Act) -> Any:
        self._keep(self.n_acts + 1, BEFORE)
        done = super().act(name, do, torn)
        self._keep(self.n_acts, AFTER)
        return done

    def write(self, file: int, data: bytes | memoryview) -> int:
        half = len(data) // 2

        def in_two() -> int:
            n = Disk.write(self, file, data[:half])
            self._keep(self.n_acts, TORN)
            return n + Disk.write(self, file, data[half:])

        return int(self.act("write", in_two, in_two))

    def _keep(self, at: int, mode: str) -> None:
        state = checksum(self._folder)
        self.moments.append((at, mode, state))
        if self._folder.exists() and not (self._kept / state).exists():
            shutil.copytree(self._folder, self._kept / state)


def checksum(folder: Path) -> str:
    """Of every name and byte in a folder, but for the number of the process that holds its lock."""
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        sha.update(f"\0{path.relative_to(folder)}\0".encode())
        sha.update(path.read_bytes() if path.is_file() and path.name != ".lock" else b"")
    return sha.hexdigest()[:16]


class FullDisk(WatchedDisk):
    """From the n-th act on there is room for nothing new."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def act(self, name: str, do: Act, torn: Act) -> Any:
        self.n_acts += 1
        if self.n_acts >= self.at and name in ("write", "make_folder"):
            torn()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return do()
