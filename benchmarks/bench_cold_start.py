"""Seconds from starting Python to the first image, with and without compiled code on disk."""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks.table import Row

FIRST_IMAGE = """
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.shapes import ShapeFamily
render(ShapeFamily().outline(0), Factors())
"""
REPEATS = 5
MAX_COMPILATION = 10.0
"""Seconds of the two processes together. Goals are CPU times, since other programs lengthen wall times."""


def run() -> list[Row]:
    """The first start, with compilation, and later ones."""
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(cache)
        later = [_seconds(cache) for _ in range(REPEATS)]
    return [
        Row("first image, compiled code cached, CPU time", _median(later, 1), "s", goal=1.0, at_most=True),
        Row("first image, compiled code cached, wall time", _median(later, 0), "s"),
        Row(
            "first image, with compilation by two processes, CPU time of both",
            first[1],
            "s",
            goal=MAX_COMPILATION,
            at_most=True,
        ),
        Row("first image, with compilation by two processes, wall time", first[0], "s"),
    ]


def _median(times: list[tuple[float, float]], column: int) -> float:
    return float(np.median([pair[column] for pair in times]))


def _seconds(cache: str) -> tuple[float, float]:
    """Wall and CPU time."""
    start, before = time.perf_counter(), _processor_time()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", FIRST_IMAGE], check=True, env=environment)
    return time.perf_counter() - start, _processor_time() - before


def _processor_time() -> float:
    used = os.times()
    return used.children_user + used.children_system
