"""One process per record: a lock that dies with its holder."""

import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType

from everlearn import files
from everlearn.errors import BadInput


class RecordLock:
    """Held while a run is played into a folder; the operating system frees it when the process ends.

    Args:
        folder: the record's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".lock"
        self._file = -1

    def __enter__(self) -> "RecordLock":
        with files.told_apart(self.path):
            self._file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 200).decode(errors="replace").strip() or "another process"
            os.close(self._file)
            raise BadInput(f"{self.path.parent} is being played by {holder}; wait for it or stop it") from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
