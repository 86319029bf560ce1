"""A sweep and an export with one process, two processes, and a local Ray cluster of two nodes."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from benchmarks.local_cluster import LocalCluster
from benchmarks.table import Row
from everlearn import streams

EVERLEARN = Path(sys.executable).with_name("everlearn")
N_RUNS, N_TASKS = 8, 8
SWEEP: dict[str, Any] = {
    "learners": ["er"],
    "seeds": list(range(N_RUNS)),
    "settings": {
        "n_tasks": 2,
        "stream": {"image_size": 32, "factor_values": 3},
        "evaluation": {"n_images": 100},
    },
}
EXPORT = ("stream", "export", "--to", "webdataset", "--tasks", f"0:{N_TASKS}")
FORMATS: tuple[Literal["webdataset", "parquet"], ...] = ("webdataset", "parquet")
WAYS: dict[str, tuple[str, ...]] = {
    "one process": (),
    "two processes": ("--workers", "2"),
    "two Ray nodes of one CPU": ("--on", "ray", "--address"),
}


def run() -> list[Row]:
    """Each variant once, start-up included; all must give the same files."""
    with LocalCluster() as cluster, tempfile.TemporaryDirectory() as folder:
        here, env = Path(folder), {**os.environ, **cluster.env, "OMP_NUM_THREADS": "1"}
        (here / "sweep.json").write_text(json.dumps(SWEEP))
        ways = {
            way: (*words, cluster.address) if "--address" in words else words for way, words in WAYS.items()
        }
        return [*_rates(here), *_sweeps(here, env, ways), *_exports(here, env, ways)]


def _rates(here: Path) -> Iterator[Row]:
    """Throughput per CPU second, independent of other load."""
    stream, tasks = streams.sprites(), range(2)
    for to in FORMATS:
        streams.export(stream, here / f"warm-{to}", to=to, tasks=[9])
        began = time.process_time()
        manifest = streams.export(stream, here / to, to=to, tasks=tasks)
        seconds = time.process_time() - began
        n_images = sum(part.rows for task in manifest.contents for part in task.parts.values())
        yield Row(f"tasks of 64 px generated and written to {to}", n_images / seconds, "images/CPU-s")
    began = time.process_time()
    stream.fingerprint(tasks)
    yield Row(
        "tasks generated and hashed (fingerprint)", n_images / (time.process_time() - began), "images/CPU-s"
    )


def _sweeps(here: Path, env: dict[str, str], ways: dict[str, tuple[str, ...]]) -> Iterator[Row]:
    for way, words in ways.items():
        records = way.replace(" ", "-")
        words = words or ("--workers", "1")
        seconds = _timed("sweep", "sweep.json", "--records", records, *words, cwd=here, env=env)
        yield Row(f"sweep of {N_RUNS} small runs, {way}", 60 * N_RUNS / seconds, "runs/min")


def _exports(here: Path, env: dict[str, str], ways: dict[str, tuple[str, ...]]) -> Iterator[Row]:
    reference = ""
    for way, words in ways.items():
        out = f"export-{way}".replace(" ", "-")
        seconds = _timed(*EXPORT, "--out", out, *words, cwd=here, env=env)
        manifest = (here / out / "manifest.json").read_text()
        reference = reference or manifest
        if manifest != reference:
            raise RuntimeError(f"{way} exported different files")
        yield Row(
            f"export of {N_TASKS} tasks to webdataset, {way}", _n_images(manifest) / seconds, "images/s"
        )


def _timed(*words: str, cwd: Path, env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([EVERLEARN, *words], cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _n_images(manifest: str) -> int:
    return sum(part["rows"] for task in json.loads(manifest)["contents"] for part in task["parts"].values())
