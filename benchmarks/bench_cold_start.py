"""Seconds from starting Python to the first picture, with and without compiled code on disk."""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks.table import Row

FIRST_PICTURE = """
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.shapes import ShapeFamily
render(ShapeFamily().outline(0), Factors())
"""
REPEATS = 5


def run() -> list[Row]:
    """The very first time, and every later one."""
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(cache)
        later = [_seconds(cache) for _ in range(REPEATS)]
    low, high = np.percentile(later, [10, 90])
    warm = Row(
        "first picture, compiled code on disk", float(np.median(later)), "s", (low, high), 2.0, at_most=True
    )
    return [warm, Row("first picture ever, compiling (once per machine)", first, "s")]


def _seconds(cache: str) -> float:
    start = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", FIRST_PICTURE], check=True, env=environment)
    return time.perf_counter() - start
