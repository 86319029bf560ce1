"""A sweep and an export by one process, by two, and by a Ray cluster of two nodes on this machine."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.local_cluster import LocalCluster
from benchmarks.table import Row

EVERLEARN = Path(sys.executable).with_name("everlearn")
N_RUNS, N_TASKS = 8, 20
SWEEP: dict[str, Any] = {
    "learners": ["er"],
    "seeds": list(range(N_RUNS)),
    "settings": {
        "n_tasks": 3,
        "stream": {"image_size": 32, "factor_values": 3},
        "evaluation": {"probe_size": 100},
    },
}
EXPORT = ("stream", "export", "--image-size", "32", "--factor-values", "4", "--tasks", f"0:{N_TASKS}")
WAYS: dict[str, tuple[str, ...]] = {
    "one process": (),
    "two processes": ("--workers", "2"),
    "two Ray nodes of one CPU": ("--on", "ray", "--address"),
}


def run() -> list[Row]:
    """Each way once, start of the command included; every way has to give the same records and files."""
    with LocalCluster() as cluster, tempfile.TemporaryDirectory() as folder:
        here, env = Path(folder), {**os.environ, **cluster.env, "OMP_NUM_THREADS": "1"}
        (here / "sweep.json").write_text(json.dumps(SWEEP))
        ways = {
            way: (*words, cluster.address) if "--address" in words else words for way, words in WAYS.items()
        }
        return [*_sweeps(here, env, ways), *_exports(here, env, ways)]


def _sweeps(here: Path, env: dict[str, str], ways: dict[str, tuple[str, ...]]) -> Iterator[Row]:
    for way, words in ways.items():
        records = way.replace(" ", "-")
        words = words or ("--workers", "1")
        seconds = _timed("sweep", "sweep.json", "--records", records, *words, cwd=here, env=env)
        yield Row(f"sweep of {N_RUNS} small runs, {way}", 60 * N_RUNS / seconds, "runs/min")


def _exports(here: Path, env: dict[str, str], ways: dict[str, tuple[str, ...]]) -> Iterator[Row]:
    for to in ("webdataset", "parquet"):
        whole = ""
        for way, words in ways.items():
            out = f"{to}-{way}".replace(" ", "-")
            seconds = _timed(*EXPORT, "--to", to, "--out", out, *words, cwd=here, env=env)
            manifest = (here / out / "manifest.json").read_text()
            whole = whole or manifest
            if manifest != whole:
                raise RuntimeError(f"{way} exported something else")
            yield Row(f"export of {N_TASKS} tasks to {to}, {way}", _n_images(manifest) / seconds, "images/s")


def _timed(*words: str, cwd: Path, env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([EVERLEARN, *words], cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _n_images(manifest: str) -> int:
    return sum(part["rows"] for task in json.loads(manifest)["contents"] for part in task["parts"].values())
