"""Memory growth, slowdown and checkpoint cost over thousands of tasks."""

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from benchmarks.table import Row
from everlearn.runs import RunSpec, record, recorder
from everlearn.runs.events import TaskEnded

WARM_UP = 0.2
"""Share of the tasks before growth is measured."""
N_SAMPLES = 500
SMALL = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "batch_size": 32,
    "evaluation.n_images": 100,
}
FIXED = {**SMALL, "stream.scenario": "domain-incremental"}
"""New shapes with the same two labels, so that neither memory nor network grows."""
GROWING = {**SMALL, "evaluation.every_n_tasks": 100, "evaluation.forward_transfer": False}
"""Two new classes a task, all stored; search time grows by design, so evaluation is rare."""


@dataclass(frozen=True)
class LongRun:
    """A long run, and whether the time per task should be constant."""

    what: str
    learner: str
    n_tasks: int
    settings: Mapping[str, object]
    steady: bool = True

    @property
    def spec(self) -> RunSpec:
        """The specification of the run."""
        return RunSpec.make(learner=self.learner, settings={**self.settings, "n_tasks": self.n_tasks})


RUNS = (
    LongRun("nearest, two labels", "nearest", 10_000, FIXED),
    LongRun("nearest, two classes per task", "nearest", 10_000, GROWING, steady=False),
    LongRun("er, two labels", "er", 1_000, FIXED),
)


@dataclass
class Sampled:
    """Measurements at regular intervals of a run."""

    task: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    rss: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    """Footprint of the learner in bytes."""
    handles: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    saved: list[tuple[int, int]] = field(default_factory=list)
    """Task of each checkpoint, and its size minus the footprint of the learner."""
    seconds: float = 0.0
    saving: float = 0.0

    def rss_growth(self) -> float:
        """Growth per task in addition to the footprint of the learner."""
        return _growth(self.task, [all_ - own for all_, own in zip(self.rss, self.held, strict=True)])

    def checkpoint_growth(self) -> float:
        """Growth per task in addition to the footprint of the learner."""
        tasks, sizes = zip(*self.saved, strict=True)
        return _growth(tasks, sizes)

    def slowdown(self) -> float:
        """CPU time of the last tenth of the tasks over that of the first."""
        tenth = len(self.cpu) // 10
        return (self.cpu[-1] - self.cpu[-1 - tenth]) / (self.cpu[tenth] - self.cpu[0])


def _growth(tasks: Sequence[int], values: Sequence[int]) -> float:
    """Growth per task by least squares, after the warm-up."""
    where, what = np.array(tasks, float), np.array(values, float)
    settled = where >= WARM_UP * where[-1]
    return float(np.polyfit(where[settled], what[settled], 1)[0])


def run() -> list[Row]:
    """All runs, each in its own process."""
    return [row for each in RUNS for row in _rows(each)]


def _rows(long: LongRun) -> Iterator[Row]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        seen = pool.submit(_measure, long).result()
    yield Row(f"{long.what}: tasks", long.n_tasks, "tasks")
    yield Row(f"{long.what}: CPU time per task", 1000 * (seen.cpu[-1] - seen.cpu[0]) / seen.task[-1], "ms")
    yield Row(f"{long.what}: RSS growth per task", seen.rss_growth(), "bytes", goal=1024, at_most=True)
    yield Row(
        f"{long.what}: checkpoint growth per task", seen.checkpoint_growth(), "bytes", goal=64, at_most=True
    )
    goal = 1.2 if long.steady else None
    yield Row(f"{long.what}: last tenth / first tenth", seen.slowdown(), "x", goal=goal, at_most=True)
    share = 100 * seen.saving / seen.seconds
    yield Row(f"{long.what}: time spent saving", share, "%", goal=2, at_most=True)
    for name, label in (("handles", "file handles"), ("threads", "threads")):
        kinds = len(set(getattr(seen, name)[len(seen.task) // 10 :]))
        yield Row(f"{long.what}: distinct counts of {label}", kinds, "", goal=1, at_most=True)


def _measure(long: LongRun) -> Sampled:
    seen, process = Sampled(), psutil.Process()
    _time_saving(seen)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        for event in record(long.spec, Path(folder) / "run"):
            if isinstance(event, TaskEnded) and event.task % (long.n_tasks // N_SAMPLES) == 0:
                _sample(seen, process, event)
                _report(long, event.task)
        seen.seconds = time.perf_counter() - started
    return seen


def _sample(seen: Sampled, process: psutil.Process, event: TaskEnded) -> None:
    seen.task.append(event.task)
    seen.cpu.append(time.process_time())
    seen.rss.append(process.memory_info().rss)
    seen.held.append(event.memory_bytes + event.weights_bytes)
    seen.handles.append(process.num_fds())
    seen.threads.append(process.num_threads())


def _report(long: LongRun, task: int) -> None:
    if task % (long.n_tasks // 10) == 0:
        print(f"{long.what}: task {task:,} of {long.n_tasks:,}", file=sys.stderr, flush=True)


def _time_saving(seen: Sampled) -> None:
    save = recorder.Recorder.save_checkpoint

    def timed(self: recorder.Recorder) -> None:
        started = time.perf_counter()
        save(self)
        seen.saving += time.perf_counter() - started
        newest = max(self.record.checkpoints.folder.glob("*.safetensors"))
        own = self.run.learner.footprint()
        seen.saved.append((self.run.n_tasks_done, newest.stat().st_size - own.memory - own.weights))

    recorder.Recorder.save_checkpoint = timed  # type: ignore[method-assign]  # to measure, not to change
