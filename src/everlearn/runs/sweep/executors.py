"""Executors run commands: in processes of this machine, or on a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from everlearn.errors import check_range
from everlearn.rendering.render import available_cpus
from everlearn.runs.child_process import ChildProcess
from everlearn.runs.sweep.gpus import VISIBLE, GPUs, available_gpus

DEFAULT_MEMORY = 1_000_000_000
"""Bytes that a typical run needs, including torch."""
MAX_WORKERS, MAX_GPUS, MAX_MEMORY = 4096, 1024, 2**60


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The number of processes that run at a time, and the resources of each.

    On this machine no process is started beside others while less than its `memory` is free.

    Example:
        >>> Capacity(workers=2).has_capacity([])
        True
        >>> Capacity(workers=2).has_capacity([11, 12])
        False
    """

    workers: int | None = None  # processes at a time; default: as many as fit
    threads: int = 1  # CPU threads of each
    memory: int = DEFAULT_MEMORY  # bytes that each may need
    gpus: float = 0.0  # GPUs, or the fraction of a GPU, of each; 0: they are not assigned

    def __post_init__(self) -> None:
        check_range("workers", 1 if self.workers is None else self.workers, 1, MAX_WORKERS)
        check_range("threads", self.threads, 1, MAX_WORKERS)
        check_range("memory", self.memory, 0, MAX_MEMORY)
        check_range("gpus", self.gpus, 0, MAX_GPUS)

    @property
    def local_workers(self) -> int:
        """Processes at a time on this machine; default: one per core."""
        return available_cpus() if self.workers is None else self.workers

    def has_capacity(self, pids: Sequence[int]) -> bool:
        """Whether one more process may start beside these on this machine."""
        if not pids:
            return True
        reserved = sum(max(0, self.memory - resident_bytes(pid)) for pid in pids)
        return len(pids) < self.local_workers and available_bytes() - reserved >= self.memory


def available_bytes() -> int:
    """Available memory of this machine."""
    return int(psutil.virtual_memory().available)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 if there is no such process."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


class ProcessHandle(Protocol):
    """A process that runs a command somewhere."""

    @property
    def is_alive(self) -> bool:
        """Whether it is still running."""

    @property
    def exit_code(self) -> int | None:
        """The exit code of a process that has ended; None if it was lost with its machine."""

    def terminate(self) -> None:
        """Request that it saves and ends."""

    def close(self) -> None:
        """Kill it if it is still running."""

    def error(self) -> str:
        """Why it ended."""


class Executor(Protocol):
    """Runs a limited number of commands at a time."""

    @property
    def workers(self) -> int:
        """Commands that fit at a time."""

    def has_capacity(self) -> bool:
        """Whether one more command may start now."""

    def start(self, command: Sequence[str]) -> ProcessHandle:
        """Start a command, given as arguments of `everlearn`."""


ExecutorFactory = Callable[[Capacity, Sequence[Path]], AbstractContextManager[Executor]]
"""Opens an executor of a capacity whose commands write to these folders."""


class LocalExecutor(Executor):
    """Runs commands in processes of this machine, each with GPUs of its own if the capacity has some."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._gpus = GPUs(available_gpus(), capacity.gpus) if capacity.gpus else None
        self._children: dict[ChildProcess, str] = {}  # and their GPUs

    @property
    def workers(self) -> int:
        workers = self._capacity.local_workers
        return workers if self._gpus is None else min(workers, self._gpus.slots)

    def has_capacity(self) -> bool:
        in_use = self._gpus_in_use()
        has_gpus = self._gpus is None or self._gpus.choose(in_use) is not None
        return has_gpus and self._capacity.has_capacity([child.pid for child in self._children])

    def start(self, command: Sequence[str]) -> ChildProcess:
        in_use = self._gpus_in_use()
        gpus = None if self._gpus is None else self._gpus.choose(in_use)
        environment = {} if gpus is None else {VISIBLE: gpus}
        child = ChildProcess(command, threads=self._capacity.threads, environment=environment)
        self._children[child] = gpus or ""
        return child

    def _gpus_in_use(self) -> list[str]:
        """The GPUs of running processes; removes those that have ended."""
        self._children = {child: gpus for child, gpus in self._children.items() if child.is_alive}
        return list(self._children.values())


@contextmanager
def local_executor(capacity: Capacity, folders: Sequence[Path]) -> Iterator[Executor]:
    """An `ExecutorFactory` for this machine."""
    yield LocalExecutor(capacity)
