"""Many runs side by side, on the cores of one machine or the nodes of a cluster.

Takes `Job`s: runs, the folders of their records, and what is asked of their learners afterwards; a `Sweep`
says many of them in a few lines. `play_all` does what is missing, each job in a process of its own, and tells
what happens as events. Gives nothing but ordinary records, the only place where it is kept what is done.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs.jobs import events
    from everlearn.runs.jobs.capacity import Capacity
    from everlearn.runs.jobs.crew import play_all
    from everlearn.runs.jobs.estimates import estimate, timed
    from everlearn.runs.jobs.job import Act, Job, missing
    from everlearn.runs.jobs.sweep import Sweep
    from everlearn.runs.jobs.workshop import Where, this_machine

# A child is leashed before anything slow is loaded, so each part is loaded when it is first asked for.
_HOMES = {
    "Act": "job",
    "Capacity": "capacity",
    "Job": "job",
    "Sweep": "sweep",
    "Where": "workshop",
    "estimate": "estimates",
    "missing": "job",
    "play_all": "crew",
    "this_machine": "workshop",
    "timed": "estimates",
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
        return importlib.import_module("everlearn.runs.jobs.events")
    if name in _HOMES:
        return getattr(importlib.import_module(f"everlearn.runs.jobs.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'everlearn.runs.jobs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
