"""What a child runs: a command of everlearn, for as long as its parent holds the other end of stdin.

A parent that lets go, or dies in whatever way, asks its children to stop by that; nobody is left behind.
"""

import os
import runpy
import signal
import threading
import time

STDIN = 0
GRACE = 25.0
"""Seconds in which a child that was asked to stop must have saved and gone."""


def main() -> None:
    """Run the words of this command line as `python -m everlearn` would."""
    threading.Thread(target=_heed, daemon=True).start()
    runpy.run_module("everlearn", run_name="__main__", alter_sys=True)


def _heed() -> None:
    while os.read(STDIN, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)  # a record survives it; a process that nobody waits for must not


if __name__ == "__main__":
    main()
