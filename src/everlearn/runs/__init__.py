"""Runs: train a learner on a stream and record what happens.

Takes a `RunSpec`. `run` yields events; `record` and `resume` also write them to a folder that survives
crashes. Gives `Record`s, which can be read without torch. Progress bars, plots and trackers consume events.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.runs import events
    from everlearn.runs.distributed import process_group
    from everlearn.runs.loop import Diverged, OutOfMemory, RunState, run
    from everlearn.runs.recorder import DamagedCheckpoint, InexactResume, Stopped, record, resume
    from everlearn.runs.run_record import Record, folder_name, list_records
    from everlearn.runs.spec import RunSpec
    from everlearn.runs.trackers import to_tensorboard, to_wandb

# Imported on first use, so that records can be read without torch.
_MODULES = {
    "DamagedCheckpoint": "recorder",
    "Diverged": "loop",
    "InexactResume": "recorder",
    "OutOfMemory": "loop",
    "Record": "run_record",
    "RunSpec": "spec",
    "RunState": "loop",
    "Stopped": "recorder",
    "folder_name": "run_record",
    "list_records": "run_record",
    "process_group": "distributed",
    "record": "recorder",
    "resume": "recorder",
    "run": "loop",
    "to_tensorboard": "trackers",
    "to_wandb": "trackers",
}

__all__ = [
    "DamagedCheckpoint",
    "Diverged",
    "InexactResume",
    "OutOfMemory",
    "Record",
    "RunSpec",
    "RunState",
    "Stopped",
    "events",
    "folder_name",
    "list_records",
    "process_group",
    "record",
    "resume",
    "run",
    "to_tensorboard",
    "to_wandb",
]


def __getattr__(name: str) -> Any:
    if name == "events":
        return importlib.import_module("everlearn.runs.events")
    if name in _MODULES:
        return getattr(importlib.import_module(f"everlearn.runs.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'everlearn.runs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
