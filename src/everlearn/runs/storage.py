"""Checkpoints: the newest two, each a safetensors file and its checksum, as `sha256sum -c` reads it.

The checksum file is written last and makes the checkpoint valid.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from everlearn import files
from everlearn.errors import BadInput
from everlearn.serialization import Tree, pack, unpack


class Mark(TypedDict):
    """A place in a log: its length up to there, and the checksum of all before it."""

    bytes: int
    sha256: str


START: Mark = {"bytes": 0, "sha256": files.sha256(b"")}
"""The mark before anything was written."""


class Log:
    """A file of JSON lines that remembers its length and checksum.

    Args:
        path: the file; made if missing. What it holds already counts after `rewind` only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with files.os_error_context(path):
            self._file = files.disk.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
        self._digest = hashlib.sha256()
        self._size = 0

    def append(self, line: dict[str, Any]) -> None:
        """Write one object; readers see it at once, the disk has it after `sync`."""
        data = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with files.os_error_context(self.path):
            files.write_all(self._file, data)
        self._digest.update(data)
        self._size += len(data)

    def sync(self) -> None:
        """Force everything so far to the disk."""
        with files.os_error_context(self.path):
            files.disk.sync(self._file)

    def mark(self) -> Mark:
        """The place to come back to."""
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}

    def check(self, mark: Mark) -> None:
        """Complain if what is before a mark has changed since."""
        is_short = os.fstat(self._file).st_size < mark["bytes"]
        if is_short or self._digest_until(mark["bytes"]).hexdigest() != mark["sha256"]:
            raise BadInput(f"{self.path.name} was changed after it was saved")

    def rewind(self, mark: Mark) -> None:
        """Forget everything after a mark that was checked."""
        with files.os_error_context(self.path):
            files.disk.truncate(self._file, mark["bytes"])
        self._digest, self._size = self._digest_until(mark["bytes"]), mark["bytes"]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _digest_until(self, size: int) -> "hashlib._Hash":
        digest = hashlib.sha256()
        for start in range(0, size, files.CHUNK_BYTES):
            digest.update(os.pread(self._file, min(files.CHUNK_BYTES, size - start), start))
        return digest


KEPT = 2
FORMAT = 1


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints in a folder.

    Args:
        folder: where they lie; made when the first is saved.
        run: the hash of the run they belong to; those of another run are refused.
    """

    folder: Path
    run: str

    def save(self, number: int, tree: Tree) -> None:
        """Keep a state under a number; forget all but this one and the one before it."""
        self._check_folder()
        files.make_folder(self.folder)
        data = pack({"format": FORMAT, "run": self.run, "number": number, "state": tree})
        path = self._data_path(number)
        files.write(path, data)
        files.write(path.with_suffix(".sha256"), _checksum(path, data))
        self._keep(set(self.numbers()[-KEPT:]))

    def numbers(self) -> list[int]:
        """The numbers of all checkpoints that were completed, oldest first."""
        return sorted(_number(path) for path in self._named() if path.suffix == ".sha256")

    def newest_first(self) -> Iterator[int]:
        """The numbers of the checkpoints that ought to be readable."""
        numbers = self.numbers()
        # Before the first checksum there may be the first data file, and nothing else.
        if not numbers and any(_number(path) > 1 for path in self._named()):
            raise self.lost("their checksums are gone")
        return reversed(numbers)

    def read(self, number: int) -> Tree:
        """The state under a number; anything wrong with it is a complaint."""
        self._check_folder()
        path = self._data_path(number)
        try:
            data = path.read_bytes()
            written = path.with_suffix(".sha256").read_bytes()
        except OSError as error:
            raise BadInput(f"it cannot be read: {error}") from None
        if written != _checksum(path, data):
            raise BadInput("its checksum does not fit")
        return self._state(number, unpack(data))

    def forget_older(self) -> None:
        """Remove all but the newest, after an edit that must leave no trace."""
        self._keep(set(self.numbers()[-1:]))

    def lost(self, why: str) -> BadInput:
        """The complaint when there is no way back into the run."""
        return BadInput(
            f"none of the checkpoints in {self.folder} can be used ({why}); "
            "restore the folder from a copy, or start a new record"
        )

    def _state(self, number: int, tree: Tree) -> Tree:
        version = tree.get("format")
        if version != FORMAT:
            raise BadInput(f"it has format {version!r:.20}, this everlearn reads format {FORMAT}")
        if tree.get("run") != self.run:
            raise BadInput("it belongs to another run")
        if tree.get("number") != number:
            raise BadInput("it belongs in another place")
        state = tree.get("state")
        if not isinstance(state, dict):
            raise BadInput("it holds no state")
        return state

    def _keep(self, numbers: set[int]) -> None:
        # A checksum goes first: without it the data file is no checkpoint any more.
        old = [path for path in self._named() if _number(path) not in numbers]
        for path in sorted(old, key=lambda each: (each.suffix != ".sha256", each.name)):
            files.remove(path)

    def _named(self) -> list[Path]:
        """Files named as ours are, and what an interrupted save left of one."""
        found = [
            *self.folder.glob("*.safetensors"),
            *self.folder.glob("*.sha256"),
            *self.folder.glob(".*.new"),
        ]
        return [path for path in found if _stem(path).isdecimal()]

    def _data_path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.safetensors"

    def _check_folder(self) -> None:
        if self.folder.is_symlink():
            raise BadInput(f"{self.folder} is a link; a record's checkpoints must lie inside it")


def _checksum(path: Path, data: bytes) -> bytes:
    """The line that `sha256sum` writes."""
    return f"{files.sha256(data)}  {path.name}\n".encode()


def _stem(path: Path) -> str:
    return path.name.lstrip(".").partition(".")[0]


def _number(path: Path) -> int:
    return int(_stem(path))
