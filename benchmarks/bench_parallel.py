"""Time per step of a run with one and two processes; also updates docs/scale.md."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.page_sections import replace_section
from benchmarks.table import Row, machine, ratio_row
from everlearn import runs
from everlearn.runs import RunSpec, process_group, record
from everlearn.runs.events import Event, TrainStep

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
BEGIN, END = "<!-- one big run: written by python -m benchmarks parallel -->", "<!-- end of one big run -->"
BACKBONES = {"pooled": 30, "resnet18": 8}
"""Backbones, and rounds of measurement."""
SIZE = BATCH = 64

Milliseconds = np.ndarray[tuple[int], np.dtype[np.float64]]


def run() -> list[Row]:
    """Measure both backbones and update the page."""
    rows = [row for name, rounds in BACKBONES.items() for row in _compared(name, rounds)]
    PAGE.write_text(replace_section(PAGE.read_text(), BEGIN, END, _table(rows)))
    return rows


def _compared(backbone: str, rounds: int) -> list[Row]:
    """Three variants of a run, interleaved step by step."""
    spec = _spec(backbone)
    threads = {"1 process": 1, "1 process with 2 threads": 2, "2 processes": 1}
    iterators = {"1 process": _steps(runs.run(spec)), "1 process with 2 threads": _steps(runs.run(spec))}
    with TemporaryDirectory() as folder, process_group(spec, processes=2):
        iterators["2 processes"] = _steps(record(spec, f"{folder}/run"))
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in iterators}
        for _ in range(1 + rounds):
            for name, steps in iterators.items():
                torch.set_num_threads(threads[name])
                seconds[name].append(_timed(steps))
    return _rows(backbone, {name: np.array(each[1:]).T for name, each in seconds.items()})


def _timed(steps: Iterator[TrainStep]) -> tuple[float, float]:
    """Wall time and CPU time of a step."""
    wall, work = time.perf_counter(), time.process_time()
    next(steps)
    return time.perf_counter() - wall, time.process_time() - work


def _rows(backbone: str, seconds: dict[str, Any]) -> list[Row]:
    rows = []
    for name, (wall, work) in seconds.items():
        rows.append(_figure(f"{backbone}, {name}: wall time", 1000 * wall))
        rows.append(_figure(f"{backbone}, {name}: CPU time per process", 1000 * work))
    (wall_1, work_1), (wall_2, work_2) = seconds["1 process"], seconds["2 processes"]
    return [
        *rows,
        ratio_row(f"{backbone}, 1 process / 2 processes: wall time", wall_1, wall_2),
        ratio_row(f"{backbone}, 1 process / 2 processes: CPU time per process", work_1, work_2),
    ]


def _spec(backbone: str) -> RunSpec:
    many_epochs = {"n_tasks": 1, "epochs": 10_000, "evaluation.forward_transfer": False}
    stream = {"stream.image_size": SIZE, "stream.classes_per_task": 10, "stream.factor_values": 4}
    return RunSpec.make(
        learner="naive",
        settings={"batch_size": BATCH, "learner.backbone": backbone, **many_epochs, **stream},
    )


def _steps(steps: Iterator[Event]) -> Iterator[TrainStep]:
    return (event for event in steps if isinstance(event, TrainStep) and event.n_images == BATCH)


def _figure(what: str, ms: Milliseconds) -> Row:
    low, high = np.percentile(ms, [10, 90])
    return Row(what, float(np.median(ms)), "ms", (float(low), float(high)))


def _table(rows: list[Row]) -> str:
    about = machine()
    lines = [f"| a step on {BATCH} images of {SIZE} px | median | 10 % .. 90 % |", "|---|---|---|"]
    for row in rows:
        low, high = row.spread or (row.value, row.value)
        lines.append(f"| {row.what} | {row.value:,.3g} {row.unit} | {low:,.3g} .. {high:,.3g} |")
    load = f"load {os.getloadavg()[0]:.1f}"
    where = f"Measured on {about['cpus']} cores ({about['processor']}), {load}, a step of each in turn."
    work = "Work is processor time of the first process; a busy machine lengthens it less than the clock."
    return "\n".join([*lines, "", where, work])
