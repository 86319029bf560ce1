"""A child process that runs an everlearn command."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Read once, when torch and numpy are loaded."""
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
MAX_ERROR_BYTES = 4096
SIGNAL_OFFSET = 128
"""Exit codes of a shell for signals are this plus the number of the signal."""


class ChildProcess:
    """A process that runs an everlearn command.

    It saves a checkpoint and ends when it is terminated or, unless it is detached, when its parent ends.

    Args:
        command: arguments of `everlearn`.
        threads: CPU threads of torch and numpy; default: as in this process.
        environment: variables to add to the environment.
        folder: working directory; default, also if it does not exist: the current one.
        detached: whether it outlives its parent.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        threads: int | None = None,
        environment: Mapping[str, str] = NO_VARIABLES,
        folder: Path | None = None,
        detached: bool = False,
    ) -> None:
        # Without a name, so that no file remains if both processes are killed; closed by `close`.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        limits = {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))
        module = "everlearn" if detached else "everlearn.runs.child_main"
        self._process = subprocess.Popen(  # noqa: S603  # our own module, without a shell
            [sys.executable, "-P", "-m", module, *command],
            stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            cwd=folder if folder is not None and folder.is_dir() else None,
            env={**os.environ, **limits, **environment},
            start_new_session=True,  # Ctrl-C in a terminal goes to the parent, which passes it on once
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it is running."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until it ends and return its exit code; None if it is still running after a timeout."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self) -> None:
        """Request that it saves and ends."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def close(self) -> None:
        """Kill it if it is still running."""
        self.terminate()
        self._process.kill()
        self._process.wait()
        self.release()

    def release(self) -> None:
        """Free the resources of this process and leave the child running."""
        self._stderr.close()

    def error(self) -> str:
        """Why it ended: the signal, or the last line that it wrote to stderr."""
        code = self._process.returncode
        if code < 0 or code > SIGNAL_OFFSET:
            return _signal_message(code)
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - MAX_ERROR_BYTES))
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        last = "".join(letter for letter in lines[-1] if letter.isprintable()) if lines else ""
        return last.removeprefix("everlearn: ") or f"exit code {code} without a message"


def _signal_message(code: int) -> str:
    number = -code if code < 0 else code - SIGNAL_OFFSET
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    out_of_memory = " (the system may have run out of memory)" if name == "SIGKILL" else ""
    return f"terminated by {name}{out_of_memory}"
