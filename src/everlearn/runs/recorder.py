"""Recorded runs: write events to a record, save checkpoints, stop cleanly, resume exactly."""

import json
import platform
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from everlearn import files
from everlearn.errors import BadInput, Notice
from everlearn.networks.devices import device_info
from everlearn.networks.distributed import world_size
from everlearn.runs.checkpoint_schedule import CheckpointSchedule
from everlearn.runs.distributed import agree_on_stop, broadcast_run, rank_error_context, resume_command
from everlearn.runs.events import (
    EvaluationProgress,
    Event,
    Probed,
    RunEnded,
    RunStarted,
    Scored,
    TaskEnded,
    TrainStep,
)
from everlearn.runs.loop import LOG_EVERY_N_BATCHES, InexactResume, RunState
from everlearn.runs.memory_limits import memory_error_context
from everlearn.runs.phases import CPU, SAVE
from everlearn.runs.run_files import START, Log, read_log
from everlearn.runs.run_record import (
    EVENTS,
    MACHINE,
    PROBES,
    SCORES,
    SECONDS,
    Record,
    RecordLock,
    check_can_create,
    check_folder,
    check_name,
)
from everlearn.runs.signals import StepTimeout, StopSignal
from everlearn.runs.spec import RunSpec
from everlearn.serialization import Tree
from everlearn.settings import differences

if TYPE_CHECKING:
    import torch

CHECKPOINT_INTERVAL = 60.0
"""Maximum seconds of work that an interruption may lose."""
MAX_CHECKPOINT_OVERHEAD = 0.02
"""Fraction of time that checkpoints may take, unless more than CHECKPOINT_INTERVAL would be lost."""
ADDED = ("numpy", "instructions")
"""Facts about the machine that records of older versions lack."""
STEP_TIMEOUT = 4.0
"""Seconds that a step may take after a stop signal, so that a run ends within five."""


class Stopped(Exception):
    """The run received a stop signal and can be resumed.

    Example:
        >>> print(Stopped(Path("records/er"), signal.SIGTERM))
        stopped by SIGTERM and saved; continue with `everlearn resume records/er`
    """

    def __init__(self, folder: Path, received: signal.Signals, how: str = "and saved") -> None:
        super().__init__(f"stopped by {received.name} {how}; continue with `{resume_command(folder)}`")
        self.signal = received


class DamagedCheckpoint(Notice):
    """A checkpoint could not be used and an older one was.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", DamagedCheckpoint)  # rather stop than repeat training
        ...     warnings.warn("checkpoint 7 is damaged", DamagedCheckpoint)
        Traceback (most recent call last):
        ...
        everlearn.runs.recorder.DamagedCheckpoint: checkpoint 7 is damaged
    """


def record(spec: RunSpec, folder: Path | str, *, name: str | None = None) -> Iterator[Event]:
    """Run a spec, write it to a new record and yield events.

    The spec is checked and the record created before the first event is requested.

    Args:
        spec: the run.
        folder: folder of the record.
        name: a name for people; it does not affect the run.

    Example:
        >>> from tempfile import mkdtemp
        >>> settings = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2}
        >>> spec = RunSpec.make(learner="nearest", settings=settings)
        >>> for event in record(spec, mkdtemp(), name="first try"):
        ...     if event.kind == "task-ended":
        ...         print(event.task, event.n_images)
        0 140
        1 140
    """
    path = check_folder(folder)
    if name is not None:
        check_name(name)
    check_can_create(path)
    run = RunState(spec)
    lock = spec.create_record(path, name)
    return _record_events(Record(path), run, lock)


def resume(folder: Path | str, spec: RunSpec | None = None) -> Iterator[Event]:
    """Continue a recorded run from its newest checkpoint and yield events.

    Args:
        folder: the record.
        spec: the expected spec; raises an error if the record has another.

    Example:
        >>> from tempfile import mkdtemp
        >>> settings = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2}
        >>> events = record(RunSpec.make(learner="nearest", settings=settings), folder := mkdtemp())
        >>> while next(events).kind != "task-ended": pass
        >>> events.close()  # an interruption after the first task
        >>> [event.task for event in resume(folder) if event.kind == "task-ended"]
        [1]
    """
    saved = Record(folder)
    if spec is not None:
        saved.check_spec(spec.to_mapping())
    resumed, threads = saved.last_event is not None, saved.machine.get("threads")
    run = RunState(RunSpec.from_record(saved), resumed=resumed, threads=threads)
    return _record_events(saved, run, RecordLock(saved.folder))


def _record_events(saved: Record, run: RunState, lock: RecordLock) -> Iterator[Event]:
    folder = saved.folder
    with (
        memory_error_context(folder),
        rank_error_context(folder),
        lock,
        StopSignal(STEP_TIMEOUT) as stop,
    ):
        last = saved.last_event
        if last is not None and last["event"] == RunEnded.kind:
            yield RunEnded(last["n_tasks"], last["digest"])
            return
        with Recorder(saved, run) as recorder:
            broadcast_run(run)
            try:
                yield from _events_until_stopped(recorder, stop)
            except StepTimeout as timeout:
                how = "within a long step, which will be repeated from the last checkpoint"
                raise Stopped(folder, timeout.received, how) from None


def _events_until_stopped(recorder: "Recorder", stop: StopSignal) -> Iterator[Event]:
    for event in recorder.run.events():
        recorder.handle(event)
        with stop.paused():
            yield event
        if received := agree_on_stop(event, stop.received):
            stop.cancel_timeout()
            recorder.save_checkpoint()
            raise Stopped(recorder.record.folder, received)


class Recorder:
    """Writes the events of a run to its record and saves checkpoints.

    On entry, the run is set to the newest usable checkpoint of the record.
    """

    def __init__(self, saved: Record, run: RunState) -> None:
        self.record, self.run, self.exact = saved, run, True
        self._schedule = CheckpointSchedule(
            interval=CHECKPOINT_INTERVAL, max_overhead=MAX_CHECKPOINT_OVERHEAD, clock=time.monotonic
        )
        self._task_started = time.monotonic()

    def __enter__(self) -> Self:
        results = SCORES if self.run.learner.is_classifier else PROBES
        self.logs = {name: Log(self.record.folder / name) for name in (EVENTS, results, SECONDS)}
        try:
            # A checkpoint must not reach the disk before the names of the logs that it refers to.
            files.sync_folder(self.record.folder)
            self.number = self._restore()
            self._check_data()
            self._write_machine()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def handle(self, event: Event) -> None:
        """Log an event, and save a checkpoint if it is due."""
        if isinstance(event, RunEnded):
            self._sync()  # the end must not reach the disk before the rest
        if isinstance(event, Scored):
            self.logs[SCORES].append(event.to_json())
        elif isinstance(event, Probed):
            self.logs[PROBES].append(event.to_json())
        elif is_logged(event):
            self.logs[EVENTS].append(event.to_json())
        if isinstance(event, TaskEnded):
            self._log_seconds(event.task)
        if isinstance(event, RunEnded):
            self._sync()
        elif event.checkpointable and self._is_due(event):
            self.save_checkpoint()

    def save_checkpoint(self) -> None:
        """Save everything that the rest of the run depends on."""
        with self._schedule.measure_save(), self.run.phases(SAVE):
            self._sync()
            state = {
                "run": self.run.state(),
                "logs": {name: log.mark() for name, log in self.logs.items()},
                "machine": self._machine(),
                "exact": self.exact,
                "seconds": time.monotonic() - self._task_started,
                "phases": self.run.phases.state(),
            }
            self.record.checkpoints.save(self.number + 1, state)
            self.number += 1

    def _is_due(self, event: Event) -> bool:
        after_task, is_last = isinstance(event, TaskEnded), self.run.n_tasks_done == self.run.n_tasks
        return (after_task and is_last) or self._schedule.is_due(after_task=after_task)

    def _restore(self) -> int:
        """Load the newest usable checkpoint and return its number; 0 at the start of a run."""
        checkpoints, problems = self.record.checkpoints, []
        for number in checkpoints.newest_first():
            try:
                self._load(checkpoints.read(number))
            except BadInput as error:
                problems.append(f"checkpoint {number}: {error}")
            else:
                if problems:
                    warnings.warn(f"{'; '.join(problems)}; used {number}", DamagedCheckpoint, stacklevel=5)
                return number
        if problems:
            raise checkpoints.unusable("; ".join(problems))
        self._restart()
        return 0

    def _load(self, state: Tree) -> None:
        try:
            for name, log in self.logs.items():
                log.check(state["logs"][name])
            self.run.load(state["run"])
            self.exact = state["exact"] and self._is_same_machine(state["machine"])
            self._task_started = time.monotonic() - state["seconds"]
            self.run.phases.load(state.get("phases", {}))  # records of older versions have none
        except BadInput:
            raise
        except Exception as error:  # learners raise any error on a malformed state; try an older one
            raise BadInput(f"it does not fit this run: {error!r:.100}") from error
        for name, log in self.logs.items():
            log.rewind(state["logs"][name])

    def _check_data(self) -> None:
        """Raise an error if a resumed run would continue with other images."""
        started = next((each for each in self.record.events() if each["event"] == RunStarted.kind), None)
        if started is not None and started["fingerprint"] != self.run.stream.fingerprint():
            raise BadInput(
                f"the images of {started['stream']} have changed since {self.record.folder} was started; "
                "restore the data, or start a new record"
            )

    def _restart(self) -> None:
        """Delete log lines from before the first checkpoint, which is saved after the first task."""
        n_ended = sum(event["event"] == TaskEnded.kind for event in read_log(self.logs[EVENTS].path))
        if n_ended > 1:
            raise self.record.checkpoints.unusable(f"they are missing, but {n_ended} tasks are finished")
        for log in self.logs.values():
            log.rewind(START)

    def _is_same_machine(self, saved: dict[str, Any]) -> bool:
        changed = machine_changes(saved, self._machine())
        if changed:
            warnings.warn(f"not exact any more: {'; '.join(changed)}", InexactResume, stacklevel=7)
        return not changed

    def _machine(self) -> dict[str, Any]:
        sources = [f"{name} {source['sha256'][:12]}" for name, source in self.run.spec.sources().items()]
        found = machine(self.run.device, self.run.threads)
        return {**found, "source": ", ".join(sources)} if sources else found

    def _write_machine(self) -> None:
        text = json.dumps({**self._machine(), "exact": self.exact}, indent=1)
        files.write(self.record.folder / MACHINE, text.encode() + b"\n")

    def _log_seconds(self, task: int) -> None:
        before, self._task_started = self._task_started, time.monotonic()
        times, clock = {"seconds": round(self._task_started - before, 4)}, self.run.phases
        self.logs[SECONDS].append({"task": task, **times, CPU: clock.take_cpu(), "phases": clock.take()})

    def _sync(self) -> None:
        for log in self.logs.values():
            log.sync()

    def _close(self) -> None:
        for log in self.logs.values():
            log.close()


def machine(device: "torch.device", threads: int | None = None) -> dict[str, Any]:
    """Versions and hardware that exact results depend on; default: the current number of threads."""
    import torch

    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": threads or torch.get_num_threads(),
        "processes": world_size(),
        **device_info(device),
        "processor": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def machine_changes(saved: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Differences between two machines; facts that an older version did not record are taken as equal.

    Example:
        >>> machine_changes({"threads": 1}, {"threads": 2, "instructions": "AVX2"})
        ['threads was 1, is 2']
        >>> machine_changes({"instructions": "AVX2"}, {"instructions": "AVX512"})
        ['instructions was AVX2, is AVX512']
    """
    return differences({**{name: here.get(name) for name in ADDED}, **saved}, here)


def is_logged(event: Event) -> bool:
    """Whether the logs of a record contain an event."""
    if isinstance(event, TrainStep):
        return event.batch % LOG_EVERY_N_BATCHES == 0
    return not isinstance(event, EvaluationProgress)
