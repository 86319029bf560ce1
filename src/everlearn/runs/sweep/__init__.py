"""Sweeps: many runs side by side, on the cores of one machine or the nodes of a Ray cluster.

A `Job` is a run, the folder of its record, and evaluation protocols to run afterwards; a `Sweep` describes
many of them. `run_jobs` runs all that is not finished, each job in its own process, and yields events. The
results are ordinary records, which are also the only state of a sweep.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.runs.sweep.executors import Capacity, ExecutorFactory, LocalExecutor, local_executor
    from everlearn.runs.sweep.gpus import available_gpus
    from everlearn.runs.sweep.jobs import Command, Job, estimate_seconds, pending_commands, with_durations
    from everlearn.runs.sweep.scheduler import run_jobs
    from everlearn.runs.sweep.sweep import Sweep

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
