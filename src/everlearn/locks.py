"""One process per folder: a lock that dies with its holder."""

import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from everlearn import files
from everlearn.errors import BadInput

LOCK = ".lock"


class FolderLock:
    """Held inside a block; the operating system frees it when the process ends, in whatever way.

    Args:
        folder: what nobody else may change meanwhile.
    """

    held = "{folder} is open in {holder}; wait until it is closed there"
    """What is said to the second who comes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        self._file = -1

    def __enter__(self) -> Self:
        with files.told_apart(self.path):
            self._file = files.disk.open(self.path, os.O_CREAT | os.O_RDWR)
            try:
                self._take()
            except BaseException:
                os.close(self._file)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def _take(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 200).decode(errors="replace").strip() or "another process"
            raise BadInput(self.held.format(folder=self.path.parent, holder=holder)) from None
        files.disk.truncate(self._file, 0)
        files.write_all(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
