"""Where commands are carried out: the processes of this machine, or those of a cluster."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from everlearn.errors import check_range
from everlearn.rendering.render import available_cpus

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
            [sys.executable, "-P", "-m", "everlearn.runs.sweep.child_main", *words],
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


MEMORY = 1_000_000_000
"""Bytes that a run of the usual size takes, torch included."""
MAX_WORKERS, MAX_GPUS = 4096, 1024
MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """How many processes may work side by side, and what each of them may take.

    Attributes:
        workers: processes at a time; as many as there is room for if not said.
        threads: of arithmetic in each of them.
        memory: bytes that each may come to need; none is started beside others while less is free.
        gpus: that each takes, or which share of one; only a cluster deals them out.

    Example:
        >>> Capacity(workers=2).has_room([])
        True
        >>> Capacity(workers=2).has_room([11, 12])
        False
    """

    workers: int | None = None
    threads: int = 1
    memory: int = MEMORY
    gpus: float = 0.0

    def __post_init__(self) -> None:
        check_range("workers", 1 if self.workers is None else self.workers, 1, MAX_WORKERS)
        check_range("threads", self.threads, 1, MAX_WORKERS)
        check_range("memory", self.memory, 0, 2**60)
        check_range("gpus", self.gpus, 0, MAX_GPUS)

    @property
    def here(self) -> int:
        """Processes at a time on this machine; as many as there are cores for if not said."""
        return available_cpus() if self.workers is None else self.workers

    def has_room(self, pids: Sequence[int]) -> bool:
        """Whether one more may start beside these processes."""
        if not pids:
            return True
        to_come = sum(max(0, self.memory - resident_bytes(pid)) for pid in pids)
        return len(pids) < self.here and free_bytes() - to_come >= self.memory


def free_bytes() -> float:
    """Memory that can be had without taking it from others; endless where the system does not say."""
    if MEMINFO.is_file():
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return float("inf")


def resident_bytes(pid: int) -> int:
    """Memory that a process has already; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class AtWork(Protocol):
    """A command of everlearn that is carried out somewhere."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""

    @property
    def code(self) -> int | None:
        """With what it ended, 0 if all is well; None of one that is lost with whatever had it."""

    def let_go(self) -> None:
        """Ask it to save and end."""

    def close(self) -> None:
        """End it at once, unless it has ended."""

    def reason(self) -> str:
        """Why it ended, in a sentence."""


class Workshop(Protocol):
    """A place with room for some commands at a time."""

    @property
    def workers(self) -> int:
        """How many it has room for in all."""

    def has_room(self) -> bool:
        """Whether one more may be started now."""

    def start(self, words: Sequence[str]) -> AtWork:
        """Begin a command."""


Where = Callable[[Capacity, Sequence[Path]], AbstractContextManager[Workshop]]
"""Opens a workshop that can do so much at once and is to write into these folders."""


class ThisMachine:
    """Processes side by side on the cores of this machine.

    Args:
        capacity: how many, and what each may take.
    """

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._children: list[Child] = []

    @property
    def workers(self) -> int:
        """How many it has room for in all."""
        return self._capacity.here

    def has_room(self) -> bool:
        """Whether one more may be started now."""
        self._children = [child for child in self._children if child.is_alive]
        return self._capacity.has_room([child.pid for child in self._children])

    def start(self, words: Sequence[str]) -> Child:
        """Begin a command."""
        child = Child(words, threads=self._capacity.threads)
        self._children.append(child)
        return child


@contextmanager
def this_machine(capacity: Capacity, folders: Sequence[Path]) -> Iterator[Workshop]:
    """The processes of this machine, which sees its own folders."""
    yield ThisMachine(capacity)
