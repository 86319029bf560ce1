"""What happened when a learner met a stream.

Takes a `RunSpec`; `play` tells what happens as events, `record` and `resume` also write it into a folder that
survives crashes. Gives `Record`s that open without torch; progress bars, plots and writers only listen.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs import events
    from everlearn.runs.company import together
    from everlearn.runs.limits import OutOfMemory
    from everlearn.runs.listeners import to_tensorboard, to_wandb
    from everlearn.runs.loop import Diverged, Play, play
    from everlearn.runs.names import folder_name
    from everlearn.runs.recording import DamagedCheckpoint, InexactResume, Stopped, record, resume
    from everlearn.runs.records import Record, list_records
    from everlearn.runs.spec import RunSpec

# A room to look into without torch: what plays is loaded when it is first asked for.
_HOMES = {
    "DamagedCheckpoint": "recording",
    "Diverged": "loop",
    "InexactResume": "recording",
    "OutOfMemory": "limits",
    "Play": "loop",
    "Record": "records",
    "RunSpec": "spec",
    "Stopped": "recording",
    "folder_name": "names",
    "list_records": "records",
    "play": "loop",
    "record": "recording",
    "resume": "recording",
    "to_tensorboard": "listeners",
    "to_wandb": "listeners",
    "together": "company",
}

__all__ = [
    "DamagedCheckpoint",
    "Diverged",
    "InexactResume",
    "OutOfMemory",
    "Play",
    "Record",
    "RunSpec",
    "Stopped",
    "events",
    "folder_name",
    "list_records",
    "play",
    "record",
    "resume",
    "to_tensorboard",
    "to_wandb",
    "together",
]


def __getattr__(name: str) -> Any:
    if name == "events":
        return importlib.import_module("everlearn.runs.events")
    if name in _HOMES:
        return getattr(importlib.import_module(f"everlearn.runs.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'everlearn.runs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
