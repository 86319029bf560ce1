"""Simulated power loss: what remains on a disk of operations that were not synced."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

from everlearn.files import Disk


class JournalingDisk(Disk):
    """Logs every operation with its data."""

    def __init__(self, journal: Path, root: Path) -> None:
        self._journal, self._root = journal, root

    def open(self, path: Path, flags: int) -> int:
        file = super().open(path, flags)
        self._log(name="open", path=self._relative(path), truncates=bool(flags & os.O_TRUNC))
        return file

    def write(self, file: int, data: bytes | memoryview) -> int:
        n = super().write(file, data)
        offset = os.lseek(file, 0, os.SEEK_CUR) - n
        self._log(name="write", path=self._path(file), offset=offset, data=bytes(data[:n]).hex())
        return n

    def sync(self, file: int) -> None:
        super().sync(file)
        self._log(name="sync", path=self._path(file))

    def truncate(self, file: int, size: int) -> None:
        super().truncate(file, size)
        self._log(name="truncate", path=self._path(file), size=size)

    def make_folder(self, path: Path) -> None:
        super().make_folder(path)
        self._log(name="make_folder", path=self._relative(path))

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._log(name="rename", path=self._relative(old), new=self._relative(new))

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._log(name="remove", path=self._relative(path))

    def _path(self, file: int) -> str:
        return self._relative(Path(f"/proc/self/fd/{file}").readlink())

    def _relative(self, path: Path) -> str:
        return "" if path == self._root else str(path.relative_to(self._root))

    def _log(self, **operation: Any) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps(operation) + "\n")


class SimulatedDisk:
    """Contents of files and entries of folders, each with its last synced version.

    After a power loss each file and each folder has either its synced version or its newest one, at random
    (or always the synced one).
    """

    def __init__(self) -> None:
        self.newest: dict[int, bytearray] = {}
        self.synced: dict[int, bytes] = {}
        self.names: dict[str, dict[str, int | None]] = {"": {}}
        self.synced_names: dict[str, dict[str, int | None]] = {"": {}}
        self._next = 0

    def replay(self, operation: dict[str, Any]) -> None:
        folder, name = _split(operation["path"])
        if operation["name"] == "sync" and operation["path"] in self.names:
            self.synced_names[operation["path"]] = dict(self.names[operation["path"]])
        elif operation["name"] == "make_folder":
            self.names[folder][name] = None
            self.names[operation["path"]], self.synced_names[operation["path"]] = {}, {}
        elif operation["name"] == "rename":
            to_folder, to_name = _split(operation["new"])
            self.names[to_folder][to_name] = self.names[folder].pop(name)
        elif operation["name"] == "remove":
            del self.names[folder][name]
        else:
            self._replay_file(operation, folder, name)

    def _replay_file(self, operation: dict[str, Any], folder: str, name: str) -> None:
        if name not in self.names[folder]:
            self.names[folder][name] = self._next
            self.newest[self._next], self.synced[self._next] = bytearray(), b""
            self._next += 1
        number = self.names[folder][name]
        assert number is not None
        if operation["name"] == "open" and operation["truncates"]:
            self.newest[number] = bytearray()
        elif operation["name"] == "write":
            data, offset = bytes.fromhex(operation["data"]), operation["offset"]
            self.newest[number][offset : offset + len(data)] = data
        elif operation["name"] == "truncate":
            del self.newest[number][operation["size"] :]
        elif operation["name"] == "sync":
            self.synced[number] = bytes(self.newest[number])

    def lose_power(self, root: Path, rng: random.Random | None) -> None:
        """Write what remains to a folder."""
        shutil.rmtree(root, ignore_errors=True)
        self._write("", root, rng)

    def _write(self, folder: str, root: Path, rng: random.Random | None) -> None:
        (root / folder).mkdir()
        is_newest = rng is not None and rng.random() < 0.5
        for name, number in (self.names if is_newest else self.synced_names)[folder].items():
            inner = f"{folder}/{name}".lstrip("/")
            if number is None:
                self._write(inner, root, rng)
            else:
                is_newest = rng is not None and rng.random() < 0.5
                (root / inner).write_bytes(self.newest[number] if is_newest else self.synced[number])


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name
