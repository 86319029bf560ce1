"""Who is playing into a record right now."""

import fcntl
import os
import re
import socket
from pathlib import Path

from everlearn.runs.lock import LOCK

HOLDER = re.compile(r"process (\d+) on (.+)")


def holder(folder: Path) -> int | None:
    """The process that plays into a record on this machine, if one does.

    The lock itself is asked only if the process that took it last still lives, because asking means taking
    it for a moment, and a run that begins in that moment must not be turned away.
    """
    try:
        with (folder / LOCK).open("rb") as lock:
            written = HOLDER.match(lock.read(300).decode(errors="replace"))
            if written is None or written[2].strip() != socket.gethostname() or not _lives(int(written[1])):
                return None
            return int(written[1]) if _is_locked(lock.fileno()) else None
    except OSError:
        return None


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    return True


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False
