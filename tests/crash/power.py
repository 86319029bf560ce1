"""Power cuts, replayed: what a disk may hold when everything that was not forced out is gone."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

from everlearn.files import Disk


class RememberingDisk(Disk):
    """Writes down every act, with its bytes, in the order in which they happened."""

    def __init__(self, diary: Path, root: Path) -> None:
        self._diary, self._root = diary, root
        self._names: dict[int, str] = {}

    def open(self, path: Path, flags: int) -> int:
        file = super().open(path, flags)
        self._note(act="open", path=self._say(path), cut=bool(flags & os.O_TRUNC))
        return file

    def write(self, file: int, data: bytes | memoryview) -> int:
        n = super().write(file, data)
        place = os.lseek(file, 0, os.SEEK_CUR) - n
        self._note(act="write", path=self._path(file), place=place, data=bytes(data[:n]).hex())
        return n

    def sync(self, file: int) -> None:
        super().sync(file)
        self._note(act="sync", path=self._path(file))

    def truncate(self, file: int, size: int) -> None:
        super().truncate(file, size)
        self._note(act="truncate", path=self._path(file), size=size)

    def make_folder(self, path: Path) -> None:
        super().make_folder(path)
        self._note(act="make_folder", path=self._say(path))

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._note(act="rename", path=self._say(old), new=self._say(new))

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._note(act="remove", path=self._say(path))

    def _path(self, file: int) -> str:
        return self._say(Path(f"/proc/self/fd/{file}").readlink())

    def _say(self, path: Path) -> str:
        return "" if path == self._root else str(path.relative_to(self._root))

    def _note(self, **act: Any) -> None:
        with self._diary.open("a") as diary:
            diary.write(json.dumps(act) + "\n")


class Platter:
    """What a disk holds: bytes of files, and names of files in folders, each with its own durable copy.

    Files are sync'ed by themselves and names by their folder. At a power cut each file and each folder shows
    either its durable copy or its newest one, by the toss of a coin (or always the durable one).
    """

    def __init__(self) -> None:
        self.now: dict[int, bytearray] = {}
        self.durable: dict[int, bytes] = {}
        self.names: dict[str, dict[str, int | None]] = {"": {}}
        self.durable_names: dict[str, dict[str, int | None]] = {"": {}}
        self._next = 0

    def replay(self, act: dict[str, Any]) -> None:
        folder, name = _split(act["path"])
        if act["act"] == "sync" and act["path"] in self.names:
            self.durable_names[act["path"]] = dict(self.names[act["path"]])
        elif act["act"] == "make_folder":
            self.names[folder][name] = None
            self.names[act["path"]], self.durable_names[act["path"]] = {}, {}
        elif act["act"] == "rename":
            to_folder, to_name = _split(act["new"])
            self.names[to_folder][to_name] = self.names[folder].pop(name)
        elif act["act"] == "remove":
            del self.names[folder][name]
        else:
            self._replay_file(act, folder, name)

    def _replay_file(self, act: dict[str, Any], folder: str, name: str) -> None:
        if name not in self.names[folder]:
            self.names[folder][name] = self._next
            self.now[self._next], self.durable[self._next] = bytearray(), b""
            self._next += 1
        number = self.names[folder][name]
        assert number is not None
        if act["act"] == "open" and act["cut"]:
            self.now[number] = bytearray()
        elif act["act"] == "write":
            data, place = bytes.fromhex(act["data"]), act["place"]
            self.now[number][place : place + len(data)] = data
        elif act["act"] == "truncate":
            del self.now[number][act["size"] :]
        elif act["act"] == "sync":
            self.durable[number] = bytes(self.now[number])

    def cut_power(self, root: Path, chance: random.Random | None) -> None:
        """Write what is left into a folder."""
        shutil.rmtree(root, ignore_errors=True)
        self._show("", root, chance)

    def _show(self, folder: str, root: Path, chance: random.Random | None) -> None:
        (root / folder).mkdir()
        lucky = chance is not None and chance.random() < 0.5
        for name, number in (self.names if lucky else self.durable_names)[folder].items():
            inner = f"{folder}/{name}".lstrip("/")
            if number is None:
                self._show(inner, root, chance)
            else:
                kept = chance is not None and chance.random() < 0.5
                (root / inner).write_bytes(self.now[number] if kept else self.durable[number])


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name
