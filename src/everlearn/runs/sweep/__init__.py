"""Sweeps: many runs side by side, on the cores of one machine or the nodes of a Ray cluster.

Takes `Job`s: runs, the folders of their records, and evaluation protocols to run afterwards; a `Sweep`
describes many of them in a few lines. `run_jobs` does what is not finished, each job in its own process, and
yields events. Gives ordinary records, which are also the only state of a sweep.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs.sweep.executors import Capacity, ExecutorFactory, local_executor
    from everlearn.runs.sweep.jobs import Command, Job, estimate_seconds, pending_commands, with_durations
    from everlearn.runs.sweep.scheduler import run_jobs
    from everlearn.runs.sweep.sweep import Sweep

_MODULES = {
    "Capacity": "executors",
    "Command": "jobs",
    "ExecutorFactory": "executors",
    "Job": "jobs",
    "Sweep": "sweep",
    "estimate_seconds": "jobs",
    "local_executor": "executors",
    "pending_commands": "jobs",
    "run_jobs": "scheduler",
    "with_durations": "jobs",
}

__all__ = [
    "Capacity",
    "Command",
    "ExecutorFactory",
    "Job",
    "Sweep",
    "estimate_seconds",
    "local_executor",
    "pending_commands",
    "run_jobs",
    "with_durations",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"everlearn.runs.sweep.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'everlearn.runs.sweep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
