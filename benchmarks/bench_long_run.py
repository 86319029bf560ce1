"""Ten thousand tasks: does a run grow, slow down, or spend its time on saving?"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from benchmarks.table import Row
from everlearn.runs import RunSpec, record, recording
from everlearn.runs.events import TaskEnded

N_TASKS = 10_000
SETTLED = 0.2
"""The share of the tasks after which nothing should grow any more."""
SAMPLE_EVERY = 20

SMALL = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "batch_size": 32,
    "evaluation.probe_size": 100,
}
FIXED = {**SMALL, "stream.scenario": "domain-incremental"}
"""New shapes for ever under the same two labels, so that the learner's memory does not grow."""
GROWING = {**SMALL, "evaluation.every": 100, "evaluation.ahead": False}
"""Two new classes a task, each remembered: its memory makes spare room by doubling, and looking things up and
saving them take longer as it grows, so only the checkpoint is judged."""


@dataclass
class Sampled:
    """What was seen along a run, every so many tasks."""

    task: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    rss: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    handles: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    saved: list[tuple[int, int]] = field(default_factory=list)
    """Of each checkpoint, the task and its bytes beyond what the learner remembers."""
    seconds: float = 0.0
    saving: float = 0.0

    def rss_slope(self) -> float:
        """Growth a task, beyond what the learner remembers."""
        return _slope(self.task, [held - own for held, own in zip(self.rss, self.memory, strict=True)])

    def checkpoint_slope(self) -> float:
        """Growth a task, beyond what the learner remembers."""
        tasks, sizes = zip(*self.saved, strict=True)
        return _slope(tasks, sizes)

    def slowdown(self) -> float:
        """CPU time of the last tenth of the tasks over that of the first."""
        tenth = len(self.cpu) // 10
        return (self.cpu[-1] - self.cpu[-1 - tenth]) / (self.cpu[tenth] - self.cpu[0])


def _slope(tasks: Sequence[int], values: Sequence[int]) -> float:
    """Growth a task, by least squares over the settled part."""
    where, what = np.array(tasks, float), np.array(values, float)
    settled = where >= SETTLED * where[-1]
    return float(np.polyfit(where[settled], what[settled], 1)[0])


def run() -> list[Row]:
    """Both runs, each in a process of its own."""
    return [*_rows("fixed memory", FIXED, judged=True), *_rows("two classes a task", GROWING, judged=False)]


def _rows(what: str, settings: Mapping[str, object], *, judged: bool) -> Iterator[Row]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        seen = pool.submit(_measure, settings).result()
    yield Row(f"{what}: tasks", len(seen.task) * SAMPLE_EVERY, "tasks")
    yield Row(f"{what}: CPU time of a task", 1000 * (seen.cpu[-1] - seen.cpu[0]) / seen.task[-1], "ms")
    yield Row(f"{what}: RSS a task", seen.rss_slope(), "bytes", goal=1024 if judged else None, at_most=True)
    yield Row(f"{what}: checkpoint a task", seen.checkpoint_slope(), "bytes", goal=64, at_most=True)
    goal = 1.2 if judged else None
    yield Row(f"{what}: last tenth beside the first", seen.slowdown(), "x", goal=goal, at_most=True)
    share = 100 * seen.saving / seen.seconds
    yield Row(f"{what}: time spent saving", share, "%", goal=2 if judged else None, at_most=True)
    for name in ("handles", "threads"):
        kinds = len(set(getattr(seen, name)[len(seen.task) // 10 :]))
        yield Row(f"{what}: different numbers of {name}", kinds, "", goal=1, at_most=True)


def _measure(settings: Mapping[str, object]) -> Sampled:
    seen, process = Sampled(), psutil.Process()
    _time_saving(seen)
    spec = RunSpec.make(learner="nearest", settings={**settings, "n_tasks": N_TASKS})
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        for event in record(spec, Path(folder) / "run"):
            if isinstance(event, TaskEnded) and event.task % SAMPLE_EVERY == 0:
                _sample(seen, process, event)
        seen.seconds = time.perf_counter() - started
    return seen


def _sample(seen: Sampled, process: psutil.Process, event: TaskEnded) -> None:
    seen.task.append(event.task)
    seen.cpu.append(time.process_time())
    seen.rss.append(process.memory_info().rss)
    seen.memory.append(event.memory_bytes)
    seen.handles.append(process.num_fds())
    seen.threads.append(process.num_threads())


def _time_saving(seen: Sampled) -> None:
    save = recording.Recorder.checkpoint

    def timed(self: recording.Recorder) -> None:
        started = time.perf_counter()
        save(self)
        seen.saving += time.perf_counter() - started
        newest = max(self.record.checkpoints.folder.glob("*.safetensors"))
        own = self.play.learner.footprint().memory
        seen.saved.append((self.play.position.task, newest.stat().st_size - own))

    recording.Recorder.checkpoint = timed  # type: ignore[method-assign]  # to measure, not to change
