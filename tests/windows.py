"""A simulation of Windows for a new process: what Windows lacks is hidden, what it has is replaced.

Run `hide` after all libraries are loaded, because only everlearn is to see the other system.
"""

import os
import signal
import sys
from types import ModuleType
from typing import Any

MISSING = {
    os: ("O_NOFOLLOW", "preadv", "sysconf", "sched_getaffinity", "fork", "getuid", "geteuid"),
    signal: ("SIGALRM", "SIGKILL", "setitimer", "ITIMER_REAL", "ITIMER_PROF"),
}


def hide() -> None:
    """Make this process look like Windows to modules that are imported from now on."""
    import fcntl

    def locking(file: int, mode: int, n_bytes: int) -> None:
        assert os.lseek(file, 0, os.SEEK_CUR) > 1 << 20, "the locked byte must be behind the content"
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    msvcrt: Any = ModuleType("msvcrt")
    msvcrt.LK_NBLCK, msvcrt.locking = 2, locking
    sys.modules |= {"msvcrt": msvcrt, "fcntl": None, "resource": None}  # type: ignore[dict-item]
    for module, names in MISSING.items():
        for name in names:
            delattr(module, name)
    os.O_BINARY, os.O_TEMPORARY = 0, 0  # type: ignore[attr-defined]
    os.open = _open_no_folder(os.open)
    sys.platform = "win32"
    for name in [name for name in sys.modules if name.partition(".")[0] == "everlearn"]:
        del sys.modules[name]


def _open_no_folder(real: Any) -> Any:
    def open_(path: Any, *arguments: Any, **more: Any) -> int:
        if os.path.isdir(path):  # noqa: PTH112  # called for every kind of path
            raise PermissionError(13, "Permission denied", str(path))
        return int(real(path, *arguments, **more))

    return open_
