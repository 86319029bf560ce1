"""What happened when a learner met a stream.

Takes a `RunSpec`; `play` tells what happens as events, `record` and `resume` also write it into a folder that
survives crashes. Gives `Record`s that open without torch; progress bars, plots and writers only listen.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs import events
    from everlearn.runs.distributed import together
    from everlearn.runs.loop import Diverged, OutOfMemory, Play, play
    from everlearn.runs.recorder import DamagedCheckpoint, InexactResume, Stopped, record, resume
    from everlearn.runs.run_record import Record, folder_name, list_records
    from everlearn.runs.spec import RunSpec
    from everlearn.runs.trackers import to_tensorboard, to_wandb

# A room to look into without torch: what plays is loaded when it is first asked for.
_HOMES = {
    "DamagedCheckpoint": "recorder",
    "Diverged": "loop",
    "InexactResume": "recorder",
    "OutOfMemory": "loop",
    "Play": "loop",
    "Record": "run_record",
    "RunSpec": "spec",
    "Stopped": "recorder",
    "folder_name": "run_record",
    "list_records": "run_record",
    "play": "loop",
    "record": "recorder",
    "resume": "recorder",
    "to_tensorboard": "trackers",
    "to_wandb": "trackers",
    "together": "distributed",
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
