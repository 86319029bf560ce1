"""Append-only logs that can be cut back to where a checkpoint was taken."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import BadInput


class Log:
    """A file of JSON lines that remembers its length and checksum.

    Args:
        path: the file; made if missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with files.told_apart(path):
            self._file = files.disk.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
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

    def mark(self) -> dict[str, Any]:
        """The place to come back to: a length and the checksum of all before it."""
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}

    def rewind(self, mark: dict[str, Any]) -> None:
        """Forget everything after a mark; complain if what is before it has changed."""
        before = self.path.read_bytes()[: mark["bytes"]]
        if hashlib.sha256(before).hexdigest() != mark["sha256"]:
            raise BadInput(f"{self.path} was changed since the checkpoint was taken; restore it from a copy")
        with files.told_apart(self.path):
            files.disk.truncate(self.path, mark["bytes"])
        self._digest, self._size = hashlib.sha256(before), len(before)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


START = {"bytes": 0, "sha256": hashlib.sha256().hexdigest()}
"""The mark before anything was written."""
