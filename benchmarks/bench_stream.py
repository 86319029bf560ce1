"""Generation time of early and late tasks, and of evaluation samples."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks import peer
from benchmarks.table import Row, interleaved, ratio_row
from everlearn import streams
from everlearn.streams import Task

LATE = 1_000_000
PEER_SAMPLE = 50


def run() -> list[Row]:
    """Task 0 and task 1,000,000 with all images; evaluation samples over 5 and 500 tasks."""
    stream = streams.sprites()
    data = peer.dataset(64, 10)
    poses = peer.poses(data, PEER_SAMPLE)
    with one_core():
        seconds = interleaved(
            {
                "peer": lambda: [data.draw(pose) for pose in poses],
                "early": lambda: generate_all(stream.task(0)),
                "late": lambda: generate_all(stream.task(LATE)),
                "probe 5": lambda: stream.eval_sample(5),
                "probe 500": lambda: stream.eval_sample(500),
                "probe late": lambda: stream.eval_sample(LATE),
            },
            clock=time.process_time,
        )
    n = generate_all(stream.task(0))
    early, late = seconds["early"], seconds["late"]
    late_sample = seconds["probe late"] / seconds["probe 500"]
    theirs = seconds["peer"] / PEER_SAMPLE * n
    return [
        Row(
            f"task(0), {n} images, 64 px gray uint8, one core", _median(early), "s", _spread(early), 0.1, True
        ),
        Row(f"task({LATE:,}) / task(0)", _median(late / early), "x", _spread(late / early), 1.2, True),
        ratio_row(f"the peer's {n} images (RGB float32; from {PEER_SAMPLE}) / task(0)", theirs, early),
        Row("eval_sample(5), 500 images", _median(seconds["probe 5"]), "s", _spread(seconds["probe 5"])),
        Row(
            "eval_sample(500), 1,000 images",
            _median(seconds["probe 500"]),
            "s",
            _spread(seconds["probe 500"]),
        ),
        Row(
            f"eval_sample({LATE:,}) / eval_sample(500)",
            _median(late_sample),
            "x",
            _spread(late_sample),
            1.2,
            True,
        ),
    ]


def generate_all(task: Task) -> int:
    """Generate all images of a task; returns their number."""
    return len(task.train) + len(task.val) + len(task.test) + len(task.held_out)


@contextmanager
def one_core() -> Iterator[None]:
    """Restrict this process to one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _median(seconds: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    return float(np.median(seconds))


def _spread(seconds: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, float]:
    low, high = np.percentile(seconds, [10, 90])
    return float(low), float(high)
