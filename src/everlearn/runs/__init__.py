"""Runs: train a learner on a stream and record what happens.

`run` trains according to a `RunSpec` and yields events; `record` and `resume` also write them to a folder
that survives crashes. A `Record` reads it without torch. Progress bars, plots and trackers consume events.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.runs import distributed, events, sweep, trackers
    from everlearn.runs.archive import pack, unpack
    from everlearn.runs.distributed import process_group
    from everlearn.runs.loop import Diverged, InexactResume, RunState, run
    from everlearn.runs.memory_edit import edit_memory, load_run
    from everlearn.runs.memory_limits import OutOfMemory
    from everlearn.runs.recorder import DamagedCheckpoint, Stopped, record, resume
    from everlearn.runs.run_record import Record, check_folder, folder_name, has_record, list_records
    from everlearn.runs.spec import RunSpec
    from everlearn.runs.trackers import track

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
