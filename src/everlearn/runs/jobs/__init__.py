"""Many runs side by side on the cores of one machine.

Takes `Job`s: runs, the folders of their records, and what is asked of their learners afterwards. `play_all`
does what is missing of them, each in a process of its own, and tells what happens as events. Gives nothing
but ordinary records, which are also the only place where it is kept what is done.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs.jobs import events
    from everlearn.runs.jobs.capacity import Capacity
    from everlearn.runs.jobs.crew import play_all
    from everlearn.runs.jobs.estimates import estimate
    from everlearn.runs.jobs.job import Act, Job, missing

# A child is leashed before anything slow is loaded, so each part is loaded when it is first asked for.
_HOMES = {
    "Act": "job",
    "Capacity": "capacity",
    "Job": "job",
    "estimate": "estimates",
    "missing": "job",
    "play_all": "crew",
}

__all__ = ["Act", "Capacity", "Job", "estimate", "events", "missing", "play_all"]


def __getattr__(name: str) -> Any:
    if name == "events":
        return importlib.import_module("everlearn.runs.jobs.events")
    if name in _HOMES:
        return getattr(importlib.import_module(f"everlearn.runs.jobs.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'everlearn.runs.jobs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
