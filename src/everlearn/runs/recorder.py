"""Playing into a record: write down what happens, checkpoint, stop cleanly, go on exactly."""

import json
import platform
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from everlearn import files
from everlearn.errors import BadInput
from everlearn.networks.distributed import world_size
from everlearn.runs import events as tell
from everlearn.runs.distributed import agreed, lead, to_resume, told_of_partners
from everlearn.runs.loop import Play, told_of_memory
from everlearn.runs.run_record import (
    EVENTS,
    MACHINE,
    PROBES,
    SCORES,
    SECONDS,
    Record,
    RecordLock,
    begin,
    check_folder,
    check_free,
    check_name,
    lines,
)
from everlearn.runs.signals import StepGivenUp, StopRequests
from everlearn.runs.spec import RunSpec
from everlearn.runs.storage import START, Log
from everlearn.serialization import Tree
from everlearn.settings import differences


class Pace:
    """Says when a run ought to be saved.

    After a task it ought to, if both the time since the last save and that of the whole run are long enough
    for another to be no more than a share of them, and one at the very end as well; short tasks share a
    checkpoint because of it. Once an interval has passed, after a task or inside one, it ought to be saved
    whatever that costs.

    Args:
        interval: seconds of work that may be lost at most.
        share: the part of the time that saving may take.
        clock: tells seconds that never run backwards.
    """

    def __init__(self, *, interval: float, share: float, clock: Callable[[], float]) -> None:
        self._interval, self._share, self._clock = interval, share, clock
        self._began = self._saved_at = clock()
        self._spent = self._last = 0.0

    def is_time(self, *, after_task: bool) -> bool:
        """Whether to save now."""
        now = self._clock()
        waited, played = now - self._saved_at, now - self._began
        if waited >= self._interval:
            return True
        is_cheap = self._last <= self._share * waited and self._spent + 2 * self._last <= self._share * played
        return after_task and is_cheap

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Learn from how long a save takes; one that fails teaches nothing."""
        started = self._clock()
        yield
        self._saved_at = self._clock()
        self._last = self._saved_at - started
        self._spent += self._last


INTERVAL = 60.0
"""Seconds of work that may be lost at most."""
SAVING_SHARE = 0.02
"""The part of the time that saving may take, unless more than INTERVAL would be lost."""
LEARNED_EVERY = 20
"""Of the batches of a task, which are written down."""


class Stopped(Exception):
    """The run was asked to stop and can be resumed, from here or, where a step took too long, from before it.

    Attributes:
        signal: what asked.
    """

    def __init__(self, folder: Path, received: signal.Signals, how: str = "and saved") -> None:
        super().__init__(f"stopped by {received.name} {how}; go on with `{to_resume(folder)}`")
        self.signal = received


class DamagedCheckpoint(UserWarning):
    """A checkpoint could not be used and an older one was."""


class InexactResume(UserWarning):
    """The run goes on under another torch, device, thread or process count; its last bits may differ."""


def record(spec: RunSpec, folder: Path | str, *, name: str | None = None) -> Iterator[tell.Event]:
    """Play a spec from the beginning into a new folder; tell what happens.

    Everything is checked, and the folder made, before the first event is asked for.

    Args:
        spec: what to play.
        folder: where the record goes.
        name: what people call the run; it decides nothing.
    """
    path = check_folder(folder)
    if name is not None:
        check_name(name)
    check_free(path)
    play = Play(spec)
    begin(path, spec.to_json(), name)
    return _recorded(Record(path), play)


def resume(folder: Path | str, spec: RunSpec | None = None) -> Iterator[tell.Event]:
    """Play a record on from its newest checkpoint to the end; tell what happens.

    Args:
        folder: the record.
        spec: what it is expected to play; if it plays anything else, that is refused.
    """
    saved = Record(folder)
    if spec is not None and (changed := differences(saved.spec, spec.to_mapping())):
        raise BadInput(f"{saved.folder} plays something else: {'; '.join(changed)}; choose a new folder")
    return _recorded(saved, Play(RunSpec.from_mapping(saved.spec)))


def _recorded(saved: Record, play: Play) -> Iterator[tell.Event]:
    folder = saved.folder
    with told_of_memory(folder), told_of_partners(folder), RecordLock(folder), StopRequests() as requests:
        last = saved.last_event
        if last is not None and last["event"] == tell.RunEnded.kind:
            yield tell.RunEnded(last["n_tasks"], last["digest"])
            return
        with Recorder(saved, play) as recorder:
            lead(play)
            try:
                yield from _heedful(recorder, requests)
            except StepGivenUp as end:
                how = "inside a long step, which will be done again from the last checkpoint"
                raise Stopped(folder, end.received, how) from None


def _heedful(recorder: "Recorder", requests: StopRequests) -> Iterator[tell.Event]:
    """Play and record until the end, or until somebody asks to stop."""
    for event in recorder.play.events():
        recorder.take(event)
        with requests.aside():
            yield event
        if asked := agreed(event, requests.received):
            requests.be_patient()
            recorder.checkpoint()
            raise Stopped(recorder.record.folder, asked)


class Recorder:
    """Listens to a play and keeps its record.

    Args:
        saved: the record to continue.
        play: the run, which is taken back to where the record can go on.
    """

    def __init__(self, saved: Record, play: Play) -> None:
        self.record, self.play = saved, play
        self.exact = True
        self._pace = Pace(interval=INTERVAL, share=SAVING_SHARE, clock=time.monotonic)
        self._task_at = time.monotonic()

    def __enter__(self) -> Self:
        judged = SCORES if self.play.learner.is_classifier else PROBES
        self.logs = {name: Log(self.record.folder / name) for name in (EVENTS, judged, SECONDS)}
        try:
            # A checkpoint must never outlive the names of the logs that it speaks of.
            files.sync_folder(self.record.folder)
            self.number = self._go_back()
            self._note_machine()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def take(self, event: tell.Event) -> None:
        """Write an event down, and save if it is time."""
        if isinstance(event, tell.RunEnded):
            self._sync()  # the word that all is told must not reach the disk before the rest
        if isinstance(event, tell.Scored):
            self.logs[SCORES].append(event.to_json())
        elif isinstance(event, tell.Probed):
            self.logs[PROBES].append(event.to_json())
        elif not _is_minor(event):
            self.logs[EVENTS].append(event.to_json())
        if isinstance(event, tell.TaskEnded):
            self._note_seconds(event.task)
        if isinstance(event, tell.RunEnded):
            self._sync()
        elif event.safe and self._is_time(event):
            self.checkpoint()

    def checkpoint(self) -> None:
        """Save everything the rest of the run depends on."""
        with self._pace.saving():
            self._sync()
            tree = {
                "play": self.play.state(),
                "logs": {name: log.mark() for name, log in self.logs.items()},
                "machine": machine(self.play.spec.device),
                "exact": self.exact,
                "seconds": time.monotonic() - self._task_at,
            }
            self.record.checkpoints.save(self.number + 1, tree)
            self.number += 1

    def _is_time(self, event: tell.Event) -> bool:
        is_end = isinstance(event, tell.TaskEnded)
        is_last = is_end and self.play.position.task == self.play.n_tasks
        return is_last or self._pace.is_time(after_task=is_end)

    def _go_back(self) -> int:
        """Return to the newest checkpoint that can be used, or to the very beginning."""
        checkpoints, problems = self.record.checkpoints, []
        for number in checkpoints.newest_first():
            try:
                self._return_to(checkpoints.read(number))
            except BadInput as error:
                problems.append(f"checkpoint {number}: {error}")
            else:
                if problems:
                    warnings.warn(f"{'; '.join(problems)}; used {number}", DamagedCheckpoint, stacklevel=5)
                return number
        if problems:
            raise checkpoints.lost("; ".join(problems))
        self._begin_again()
        return 0

    def _return_to(self, tree: Tree) -> None:
        try:
            # A record from before there were probes has no mark in their log, which is then empty.
            marks = {PROBES: START, **tree["logs"]}
            for name, log in self.logs.items():
                log.check(marks[name])
            self.play.load(tree["play"])
            self.exact = tree["exact"] and self._is_same_machine(tree["machine"])
            self._task_at = time.monotonic() - tree["seconds"]
        except BadInput:
            raise
        except Exception as error:  # whatever a strange state makes a learner raise, an older one may do
            raise BadInput(f"it does not fit this run: {error!r:.100}") from error
        for name, log in self.logs.items():
            log.rewind(marks[name])

    def _begin_again(self) -> None:
        """Forget what was logged before the first checkpoint, which is taken after the first task."""
        ended = sum(event["event"] == "task-ended" for event in lines(self.logs[EVENTS].path))
        if ended > 1:
            raise self.record.checkpoints.lost(f"they are missing, though {ended} tasks were played")
        for log in self.logs.values():
            log.rewind(START)

    def _is_same_machine(self, then: dict[str, Any]) -> bool:
        now = machine(self.play.spec.device)
        changed = differences({"processes": 1, **then}, now)
        if changed:
            warnings.warn(f"not exact any more: {'; '.join(changed)}", InexactResume, stacklevel=7)
        return not changed

    def _note_machine(self) -> None:
        about = {**machine(self.play.spec.device), "exact": self.exact}
        files.write(self.record.folder / MACHINE, json.dumps(about, indent=1).encode() + b"\n")

    def _note_seconds(self, task: int) -> None:
        now = time.monotonic()
        self.logs[SECONDS].append({"task": task, "seconds": round(now - self._task_at, 4)})
        self._task_at = now

    def _sync(self) -> None:
        for log in self.logs.values():
            log.sync()

    def _close(self) -> None:
        for log in self.logs.values():
            log.close()


def machine(device: str) -> dict[str, Any]:
    """What the exactness of a resume depends on."""
    import torch

    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processes": world_size(),
        "device": device,
        "processor": platform.machine(),
    }


def _is_minor(event: tell.Event) -> bool:
    if isinstance(event, tell.Learned):
        return event.batch % LEARNED_EVERY != 0
    return isinstance(event, tell.LookingAhead | tell.Scoring)
