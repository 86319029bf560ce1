"""Files of a record: append-only logs of JSON lines, and checkpoints with checksums.

A checkpoint is a safetensors file and a checksum file in the format of `sha256sum -c`. The checksum is
written last and makes the checkpoint valid. The newest two are kept.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from everlearn import files
from everlearn.errors import BadInput
from everlearn.serialization import Tree, pack, unpack

RESTORE = "restore the record from a backup"
KEPT = 2
FORMAT = 1
LAST_BYTES = 1 << 12
"""Bytes of the first read from the end of a log; most readers need its last line only."""


class Mark(TypedDict):
    """A position in a log: its length up to there and the checksum of that part."""

    bytes: int
    sha256: str


START: Mark = {"bytes": 0, "sha256": files.sha256(b"")}


class Log:
    """A file of JSON lines with a running length and checksum.

    Args:
        path: the file; created if missing. Lines that it has already count only after `rewind`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with files.os_error_context(path):
            self._file = files.disk.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
        self._digest = hashlib.sha256()
        self._size = 0

    def append(self, line: dict[str, Any]) -> None:
        """Write one object; readers see it immediately, it is on disk after `sync`."""
        data = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with files.os_error_context(self.path):
            files.write_all(self._file, data)
        self._digest.update(data)
        self._size += len(data)

    def sync(self) -> None:
        """Force all lines to disk."""
        with files.os_error_context(self.path):
            files.disk.sync(self._file)

    def mark(self) -> Mark:
        """The current end of the log."""
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}

    def check(self, mark: Mark) -> None:
        """Raise an error if the part before a mark has changed."""
        is_short = os.fstat(self._file).st_size < mark["bytes"]
        if is_short or self._digest_until(mark["bytes"]).hexdigest() != mark["sha256"]:
            raise BadInput(f"{self.path.name} was changed after it was saved")

    def rewind(self, mark: Mark) -> None:
        """Delete everything after a mark."""
        with files.os_error_context(self.path):
            files.disk.truncate(self._file, mark["bytes"])
        self._digest, self._size = self._digest_until(mark["bytes"]), mark["bytes"]

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _digest_until(self, size: int) -> "hashlib._Hash":
        digest = hashlib.sha256()
        for start in range(0, size, files.CHUNK_BYTES):
            digest.update(files.read_at(self._file, min(files.CHUNK_BYTES, size - start), start))
        return digest


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a log, without an incomplete last line."""
    if not path.exists():
        return
    with path.open("rb") as log:
        for number, line in enumerate(log, 1):
            if line.endswith(b"\n"):
                yield _parse(line, f"{path}, line {number},")


def read_log_reversed(path: Path, begin: int = 0) -> Iterator[dict[str, Any]]:
    """The objects of a log after its first `begin` bytes, last first; reads only as much as is needed."""
    if not path.exists():
        return
    with path.open("rb") as log:
        end, rest = log.seek(0, os.SEEK_END), b""
        is_tail, size = True, LAST_BYTES
        while end > begin:
            start, size = max(begin, end - min(size, files.CHUNK_BYTES)), 2 * size
            log.seek(start)
            first, *complete = (log.read(end - start) + rest).split(b"\n")
            for line in reversed(complete[:-1] if is_tail else complete):
                yield _parse(line, str(path))
            end, rest, is_tail = start, first, False if complete else is_tail
        if rest and not is_tail:
            yield _parse(rest, str(path))


@contextmanager
def damage_reported(folder: Path) -> Iterator[None]:
    """Raise `BadInput` where lines of the logs of a record lack keys or have values of the wrong type."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{folder} is damaged ({error!r:.100}); {RESTORE}") from error


def _parse(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where} is damaged: {error}; {RESTORE}") from None
    if not isinstance(value, dict):
        raise BadInput(f"{where} is damaged: it is not a JSON object; {RESTORE}")
    return value


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints in a folder; those of another run than `run`, a hash of its spec, are rejected."""

    folder: Path
    run: str

    def save(self, number: int, state: Tree) -> None:
        """Write a checkpoint and delete all but this and the previous one."""
        self._check_folder()
        files.make_folder(self.folder)
        data = pack({"format": FORMAT, "run": self.run, "number": number, "state": state})
        path = self._data_path(number)
        files.write(path, data)
        files.write(path.with_suffix(".sha256"), _checksum(path, data))
        self._delete_except(set(self.numbers()[-KEPT:]))

    def numbers(self) -> list[int]:
        """Numbers of all completed checkpoints, oldest first."""
        return sorted(_number(path) for path in self._files() if path.suffix == ".sha256")

    def newest_first(self) -> Iterator[int]:
        """Numbers of the checkpoints to try when resuming."""
        numbers = self.numbers()
        # Before the first checksum file there can only be the data file of checkpoint 1.
        if not numbers and any(_number(path) > 1 for path in self._files()):
            raise self.unusable("their checksums are missing")
        return reversed(numbers)

    def read(self, number: int) -> Tree:
        """The state in a checkpoint; raises an error if anything about it is wrong."""
        self._check_folder()
        path = self._data_path(number)
        try:
            data = path.read_bytes()
            checksum = path.with_suffix(".sha256").read_bytes()
        except OSError as error:
            raise BadInput(f"it cannot be read: {error}") from None
        if checksum != _checksum(path, data):
            raise BadInput("its checksum is wrong")
        return self._state(number, unpack(data))

    def delete_older(self) -> None:
        """Delete all but the newest, after an edit that must leave no copy of deleted images."""
        self._delete_except(set(self.numbers()[-1:]))

    def unusable(self, reason: str) -> BadInput:
        """The error if no checkpoint can be used."""
        return BadInput(
            f"none of the checkpoints in {self.folder} can be used ({reason}); "
            "restore the folder from a backup, or start a new record"
        )

    def _state(self, number: int, tree: Tree) -> Tree:
        version = tree.get("format")
        if version != FORMAT:
            raise BadInput(f"it has format {version!r:.20}, this everlearn reads format {FORMAT}")
        if tree.get("run") != self.run:
            raise BadInput("it belongs to another run")
        if tree.get("number") != number:
            raise BadInput("its number does not match its file name")
        state = tree.get("state")
        if not isinstance(state, dict):
            raise BadInput("it has no state")
        return state

    def _delete_except(self, numbers: set[int]) -> None:
        # The checksum goes first: without it a data file is not a checkpoint.
        old = [path for path in self._files() if _number(path) not in numbers]
        for path in sorted(old, key=lambda each: (each.suffix != ".sha256", each.name)):
            files.remove(path)

    def _files(self) -> list[Path]:
        """Files of checkpoints, including those of an interrupted save."""
        patterns = ("*.safetensors", "*.sha256", ".*.new")
        found = [path for pattern in patterns for path in self.folder.glob(pattern)]
        return [path for path in found if _stem(path).isdecimal()]

    def _data_path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.safetensors"

    def _check_folder(self) -> None:
        if self.folder.is_symlink():
            raise BadInput(f"{self.folder} is a symbolic link; checkpoints must be inside the record")


def _checksum(path: Path, data: bytes) -> bytes:
    """The line that `sha256sum` writes."""
    return f"{files.sha256(data)}  {path.name}\n".encode()


def _stem(path: Path) -> str:
    return path.name.lstrip(".").partition(".")[0]


def _number(path: Path) -> int:
    return int(_stem(path))
