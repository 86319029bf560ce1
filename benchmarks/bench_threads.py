"""CPU time of a short run of `dcl` beside 0, 1 and 4 busy processes, relative to a run with one thread."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.table import Row
from everlearn.runs.threads import VARIABLE

BUSY = (0, 1, 4)
MAX_RATIO = 1.3
ROUNDS = 3
N_TASKS = 3
SETTINGS = ("--learner", "dcl", "--image-size", "32", "--factor-values", "4", "--tasks", str(N_TASKS))
KINDS = {"default": (), "2 threads": ("--threads", "2")}


def run() -> list[Row]:
    """The default, and two threads, which wait for each other; runs alternate."""
    _run(one_thread=True)  # compiled code and file caches
    ratios: dict[tuple[str, int], list[float]] = {(kind, n): [] for kind in KINDS for n in BUSY}
    for _ in range(ROUNDS):
        quiet = _run(one_thread=True)
        for kind, n in ratios:
            with _busy(n):
                ratios[kind, n].append(_run(*KINDS[kind]) / quiet)
    return [_row(kind, n, values) for (kind, n), values in ratios.items()]


def _row(kind: str, n: int, ratios: list[float]) -> Row:
    goal = MAX_RATIO if kind == "default" else None
    what = f"CPU time of a run, {kind}, beside {n} busy processes / one thread, without them"
    low, high = np.percentile(ratios, [10, 90])
    return Row(what, float(np.median(ratios)), "x", (float(low), float(high)), goal, at_most=True)


def _run(*options: str, one_thread: bool = False) -> float:
    """CPU seconds of a run in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {VARIABLE: "1"} if one_thread else {}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "everlearn", "run", *SETTINGS, *options]
        before = os.times()
        subprocess.run(
            [*command, "--record", str(Path(folder, "record"))],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@contextmanager
def _busy(n: int) -> Iterator[None]:
    """Context in which n other processes use all the processor time that they get."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()  # its time is not that of a run
