"""Many runs side by side, on the cores of one machine or the nodes of a cluster.

Takes `Job`s: runs, the folders of their records, and what is asked of their learners afterwards; a `Sweep`
says many of them in a few lines. `play_all` does what is missing, each job in a process of its own, and tells
what happens as events. Gives nothing but ordinary records, the only place where it is kept what is done.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs.sweep import events
    from everlearn.runs.sweep.executors import Capacity, Where, this_machine
    from everlearn.runs.sweep.jobs import Act, Job, estimate, missing, timed
    from everlearn.runs.sweep.scheduler import play_all
    from everlearn.runs.sweep.sweep import Sweep

# A child is leashed before anything slow is loaded, so each part is loaded when it is first asked for.
_HOMES = {
    "Act": "jobs",
    "Capacity": "executors",
    "Job": "jobs",
    "Sweep": "sweep",
    "Where": "executors",
    "estimate": "jobs",
    "missing": "jobs",
    "play_all": "scheduler",
    "this_machine": "executors",
    "timed": "jobs",
}

__all__ = [
    "Act",
    "Capacity",
    "Job",
    "Sweep",
    "Where",
    "estimate",
    "events",
    "missing",
    "play_all",
    "this_machine",
    "timed",
]


def __getattr__(name: str) -> Any:
    if name == "events":
        return importlib.import_module("everlearn.runs.sweep.events")
    if name in _HOMES:
        return getattr(importlib.import_module(f"everlearn.runs.sweep.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'everlearn.runs.sweep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
