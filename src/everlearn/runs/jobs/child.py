"""A command of everlearn in a process of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What is read when torch and numpy are loaded, and not later."""
NOTHING: Mapping[str, str] = MappingProxyType({})
LAST_WORDS = 4096
"""Bytes at the end of what a child complained, in which its last sentence is."""
SHELL = 128
"""What a command adds to the number of the signal that it heeded."""


class Child:
    """A process that ends soon after it is let go, or after whoever started it is gone.

    Args:
        words: a command of everlearn.
        threads: of arithmetic.
        environment: what it finds there beside our own.
        folder: where it works; where we do if not said.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        threads: int,
        environment: Mapping[str, str] = NOTHING,
        folder: Path | None = None,
    ) -> None:
        # Without a name, so that nothing stays behind, whoever is killed; `close` closes it.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(  # noqa: S603  # our own words, and no shell
            [sys.executable, "-P", "-m", "everlearn.runs.jobs.leash", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            cwd=folder,
            env={**os.environ, **dict.fromkeys(THREADS, str(threads)), **environment},
            start_new_session=True,  # Ctrl-C in a terminal is for the parent, who passes it on once
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it is still at work."""
        return self._process.poll() is None

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself in that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def code(self) -> int | None:
        """With what it ended; 0 if all is well."""
        return self._process.poll()

    def wait(self) -> int:
        """With what it ended, once it has."""
        return self._process.wait()

    def let_go(self) -> None:
        """Ask it to save and end."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def close(self) -> None:
        """End it at once, unless it has ended."""
        self.let_go()
        self._process.kill()
        self._process.wait()
        self._said.close()

    def reason(self) -> str:
        """Why it ended, in a sentence."""
        code = self._process.returncode
        if code < 0 or code > SHELL:
            return _signalled(code)
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - LAST_WORDS))
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        last = "".join(letter for letter in lines[-1] if letter.isprintable()) if lines else ""
        return last.removeprefix("everlearn: ") or f"it ended with code {code} and said nothing"


def _signalled(code: int) -> str:
    number = -code if code < 0 else code - SHELL
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number == signal.SIGKILL:
        return f"it was ended by {name}, as the system does when memory runs out"
    return f"it was ended by {name}"
