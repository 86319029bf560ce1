"""Entry point of a child process: runs an everlearn command until the parent closes the child's stdin.

The parent's end of the pipe is closed when the parent terminates the child or ends in any way, so no child
outlives its parent.
"""

import os
import runpy
import signal
import sys
import threading
import time

STDIN = 0
STOP_TIMEOUT = 25.0
"""Seconds that a child has to save and end."""


def main() -> None:
    """Run the arguments as `python -m everlearn` would."""
    threading.Thread(target=_watch_parent, daemon=True).start()
    runpy.run_module("everlearn", run_name="__main__", alter_sys=True)


def _watch_parent() -> None:
    while os.read(STDIN, 1):
        pass
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGTERM)  # `os.kill` would end the process without calling its handler
        time.sleep(STOP_TIMEOUT)
        os.kill(os.getpid(), signal.SIGTERM)
    else:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_TIMEOUT)
        os.kill(os.getpid(), signal.SIGKILL)  # safe, because records survive a kill


if __name__ == "__main__":
    main()
