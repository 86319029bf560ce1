"""What a second process brings: seconds for each step of one run, alone and shared; also in docs/scale.md."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.places import between
from benchmarks.table import Row, machine, ratio_row
from everlearn.runs import RunSpec, play, record, together
from everlearn.runs.events import Event, Learned

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
BEGIN, END = "<!-- one big run: written by python -m benchmarks parallel -->", "<!-- end of one big run -->"
BACKBONES = {"pooled": 30, "resnet18": 8}
"""What is trained, and for how many rounds it is measured."""
SIZE = BATCH = 64

Milliseconds = np.ndarray[tuple[int], np.dtype[np.float64]]


def run() -> list[Row]:
    """Both backbones; what is measured goes into the page as well."""
    rows = [row for name, rounds in BACKBONES.items() for row in _compared(name, rounds)]
    PAGE.write_text(between(PAGE.read_text(), BEGIN, END, _table(rows)))
    return rows


def _compared(backbone: str, rounds: int) -> list[Row]:
    """The same run thrice, a step of each in turn, so that all see the same machine."""
    spec = _spec(backbone)
    threads = {"1 process": 1, "1 process of 2 threads": 2, "2 processes": 1}
    stories = {"1 process": _steps(play(spec)), "1 process of 2 threads": _steps(play(spec))}
    with TemporaryDirectory() as folder, together(spec, processes=2):
        stories["2 processes"] = _steps(record(spec, f"{folder}/run"))
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in stories}
        for _ in range(1 + rounds):
            for name, story in stories.items():
                torch.set_num_threads(threads[name])
                seconds[name].append(_timed(story))
    return _rows(backbone, {name: np.array(each[1:]).T for name, each in seconds.items()})


def _timed(story: Iterator[Learned]) -> tuple[float, float]:
    """How long a step takes by the clock on the wall, and of this process's own work."""
    wall, work = time.perf_counter(), time.process_time()
    next(story)
    return time.perf_counter() - wall, time.process_time() - work


def _rows(backbone: str, seconds: dict[str, Any]) -> list[Row]:
    rows = []
    for name, (wall, work) in seconds.items():
        rows.append(_figure(f"{backbone}, {name}: on the clock", 1000 * wall))
        rows.append(_figure(f"{backbone}, {name}: work of each", 1000 * work))
    (wall_1, work_1), (wall_2, work_2) = seconds["1 process"], seconds["2 processes"]
    return [
        *rows,
        ratio_row(f"{backbone}, 1 process beside 2: on the clock", wall_1, wall_2),
        ratio_row(f"{backbone}, 1 process beside 2: work of each", work_1, work_2),
    ]


def _spec(backbone: str) -> RunSpec:
    endless = {"n_tasks": 1, "epochs": 10_000, "evaluation.ahead": False}
    stream = {"stream.image_size": SIZE, "stream.classes_per_task": 10, "stream.factor_values": 4}
    return RunSpec.make(
        learner="naive",
        settings={"batch_size": BATCH, "learner.backbone": backbone, **endless, **stream},
    )


def _steps(story: Iterator[Event]) -> Iterator[Learned]:
    return (event for event in story if isinstance(event, Learned) and event.n_images == BATCH)


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
