"""Benchmark results: measuring, printing, storing."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.processors import processor

Clock = Callable[[], float]


@dataclass(frozen=True)
class Row:
    """One result.

    Attributes:
        what: the measured quantity.
        value: the result.
        unit: its unit.
        spread: 10th and 90th percentile over rounds, if there are several.
        goal: required minimum (or maximum with `at_most`); None without a goal.
        at_most: whether smaller is better.
        counts: correct answers and images, if the value is an accuracy at the end of runs.
    """

    what: str
    value: float
    unit: str
    spread: tuple[float, float] | None = None
    goal: float | None = None
    at_most: bool = False
    counts: tuple[int, int] | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def interleaved(
    works: dict[str, Callable[[], object]], rounds: int = 30, clock: Clock = time.thread_time
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Seconds per round of each workload; workloads alternate, so that all see the same machine."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def ratio_row(
    what: str, slow: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    fast: "np.ndarray[tuple[int], np.dtype[np.float64]]", goal: float | None = None,
) -> Row:  # fmt: skip
    """The speed-up of `fast`: median of the ratios of the rounds."""
    ratios = slow / fast
    low, high = np.percentile(ratios, [10, 90])
    return Row(what, float(np.median(ratios)), "x", (float(low), float(high)), goal)


def machine() -> dict[str, object]:
    """Processor, load and versions."""
    return {
        **processor(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def show(title: str, rows: Iterable[Row]) -> None:
    """Print a table."""
    table = Table("", "figure", "10%..90%", "goal", "", title=title, title_justify="left")
    for row in rows:
        spread = f"{row.spread[0]:,.3g}..{row.spread[1]:,.3g}" if row.spread else ""
        sign = "<=" if row.at_most else ">="
        goal = "" if row.goal is None else f"{sign} {row.goal:g}"
        mark = {True: "reached", False: "MISSED", None: ""}[row.reached]
        table.add_row(row.what, f"{row.value:,.4g} {row.unit}", spread, goal, mark)
    Console(width=130).print(table)


def keep(path: Path, rows: Sequence[Row]) -> None:
    """Write results and machine to a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    )
