"""One process per folder: a lock that dies with its holder."""

import fcntl
import os
import socket
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput

LOCK = ".lock"


class FolderLock:
    """Held from the moment it is made until it is closed, or its process ends.

    Args:
        folder: what nobody else may open meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        with files.told_apart(self.path):
            self._file = files.disk.open(self.path, os.O_CREAT | os.O_RDWR)
            try:
                self._take()
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Let others in."""
        os.close(self._file)

    def _take(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 200).decode(errors="replace").strip() or "another process"
            raise BadInput(f"{self.path.parent} is open in {holder}; wait until it is closed there") from None
        files.disk.truncate(self._file, 0)
        files.write_all(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
