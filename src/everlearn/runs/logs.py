"""Append-only logs that can be cut back to where a checkpoint was taken."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, TypedDict

from everlearn import files
from everlearn.errors import BadInput


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
        with files.told_apart(path):
            self._file = files.disk.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
        self._digest = hashlib.sha256()
        self._size = 0

    def append(self, line: dict[str, Any]) -> None:
        """Write one object; readers see it at once, the disk has it after `sync`."""
        data = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with files.told_apart(self.path):
            files.write_all(self._file, data)
        self._digest.update(data)
        self._size += len(data)

    def sync(self) -> None:
        """Force everything so far to the disk."""
        with files.told_apart(self.path):
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
        with files.told_apart(self.path):
            files.disk.truncate(self._file, mark["bytes"])
        self._digest, self._size = self._digest_until(mark["bytes"]), mark["bytes"]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _digest_until(self, size: int) -> "hashlib._Hash":
        digest = hashlib.sha256()
        for start in range(0, size, files.PIECE):
            digest.update(os.pread(self._file, min(files.PIECE, size - start), start))
        return digest
