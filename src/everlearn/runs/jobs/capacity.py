"""How much may be done at once."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from everlearn.errors import check_range
from everlearn.rendering.threads import usable_cpus

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
        return usable_cpus() if self.workers is None else self.workers

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
