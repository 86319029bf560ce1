"""The on-disk exemplar memory at increasing size: `python -m benchmarks memory --classes 10000 100000`."""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.memory_images import ERRORS, SIZE, exemplars, queries
from benchmarks.memory_page import RESULTS, write_page
from benchmarks.table import Row, machine
from everlearn.memory import OnDiskMemory
from everlearn.rng import IntArray, rng_at

CLASSES = (10_000, 100_000, 1_000_000)
BATCH, N_SINGLE, N_QUERIES, CHUNK = 2_000, 20, 100, 10_000

Figures = dict[str, Any]
Floats = npt.NDArray[np.float32]


def run(*words: str) -> list[Row]:
    """Grow one memory, and measure it at each size."""
    options = _read(words)
    torch.set_num_threads(1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "memory"
        OnDiskMemory.create(place, image_shape=(SIZE, SIZE)).close()
        for n_classes in sorted(options.classes):
            figures = measure(place, n_classes)
            _keep(n_classes, figures)
            write_page()
            if options.json:
                print(json.dumps(figures))
            rows += _rows(n_classes, figures)
    return rows


def measure(place: Path, n_classes: int) -> Figures:
    """All figures of a memory that grows to so many classes."""
    with OnDiskMemory(place) as memory:
        figures = {"classes": n_classes, **_growing(memory, n_classes), **_editing(memory)}
        figures |= {"ram_bytes": memory.nbytes / n_classes, "disk_bytes": memory.disk_bytes / n_classes}
        figures |= _looking(memory, n_classes)
    figures["open_seconds"] = _cpu(lambda: OnDiskMemory(place).close())
    return figures


def _growing(memory: OnDiskMemory, n_classes: int) -> Figures:
    """Wall time, because adding mostly waits for the disk."""
    seconds, start = 0.0, len(memory)
    for first in range(start, n_classes, BATCH):
        labels = np.arange(first, min(first + BATCH, n_classes))
        images = exemplars(labels)
        began = time.perf_counter()
        memory.add(labels, images)
        seconds += time.perf_counter() - began
    return {"adds_per_second": (n_classes - start) / seconds if seconds else None}


def _editing(memory: OnDiskMemory) -> Figures:
    """Single edits: add, rename, forget."""
    new = int(memory.classes()[-1]) + 1 + np.arange(N_SINGLE)
    images = exemplars(new)
    edits: dict[str, Callable[[int], object]] = {
        "add": lambda i: memory.add(new[i : i + 1], images[i : i + 1]),
        "rename": lambda i: memory.rename(int(new[i]), f"shape {i}"),
        "forget": lambda i: memory.forget(new[i : i + 1]),
    }
    figures = {}
    for name, edit in edits.items():
        began = time.perf_counter()
        for i in range(N_SINGLE):
            edit(i)
        figures[f"{name}_milliseconds"] = (time.perf_counter() - began) / N_SINGLE * 1e3
    return figures


def _looking(memory: OnDiskMemory, n_classes: int) -> Figures:
    labels = rng_at(0, "who is looked up").permutation(min(n_classes, CLASSES[0]))[:N_QUERIES]
    asked = {error: queries(labels, error) for error in ERRORS}
    return {**lookup_times(memory, asked), **_recalls(memory, asked, labels, n_classes)}


def lookup_times(memory: OnDiskMemory, asked: dict[str, Floats]) -> Figures:
    """CPU time, with files in the page cache."""
    everything = np.concatenate(list(asked.values()))
    memory.search(everything)
    batch = _cpu(lambda: memory.search(everything)) / len(everything)
    single = _cpu(lambda: [memory.search(each[None]) for each in asked["small"]]) / N_QUERIES
    return {"lookup_milliseconds": single * 1e3, "batch_lookup_milliseconds": batch * 1e3}


def _recalls(memory: OnDiskMemory, asked: dict[str, Floats], labels: IntArray, n_classes: int) -> Figures:
    """Recall of the nearest image, and of exact copies."""
    true = _brute_force(n_classes, np.concatenate(list(asked.values())))
    figures = {}
    for error, bound in zip(asked, np.split(true, len(asked)), strict=True):
        found = memory.search(asked[error])[1][:, 0]
        figures[f"recall_{error}"] = float((found <= bound * (1 + 1e-5) + 1).mean())
    same = memory.search(exemplars(labels))
    figures["recall_same"] = float(((same[0][:, 0] == labels) & (same[1][:, 0] == 0)).mean())
    return figures


def _brute_force(n_classes: int, images: Floats) -> npt.NDArray[np.float64]:
    """Squared distance to the nearest image."""
    flat = images.reshape(len(images), -1)
    best = np.full(len(images), np.inf)
    for start in range(0, n_classes, CHUNK):
        known = exemplars(np.arange(start, min(start + CHUNK, n_classes))).reshape(-1, SIZE * SIZE)
        candidates = np.argmin(
            np.square(known, dtype=np.float32).sum(1) / 2 - flat @ known.T.astype(np.float32), 1
        )
        apart = flat.astype(np.float64) - known[candidates]
        best = np.minimum(best, np.square(apart).sum(1))
    return best


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _read(words: tuple[str, ...]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=list(CLASSES), help="sizes to measure at")
    parser.add_argument("--json", action="store_true", help="print the figures of each size as JSON, too")
    return parser.parse_args(words)


def _keep(n_classes: int, figures: Figures) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    about = {**machine(), "numba": version("numba"), "system": platform.platform()}
    kept = {"machine": about, "figures": figures}
    (RESULTS / f"{n_classes}.json").write_text(json.dumps(kept, indent=1) + "\n")


def _rows(n_classes: int, figures: Figures) -> list[Row]:
    what = f"{n_classes:,} classes: "
    recalls = [
        Row(f"{what}recall of the nearest image, {name} errors", figures[f"recall_{name}"], "", None, 0.99)
        for name in ("same", *ERRORS)
    ]
    return [
        *recalls,
        Row(f"{what}bytes per class in RAM", figures["ram_bytes"], "bytes"),
        Row(f"{what}bytes per class on disk", figures["disk_bytes"], "bytes"),
        Row(f"{what}one search", figures["lookup_milliseconds"], "ms"),
        Row(f"{what}opening", figures["open_seconds"], "s"),
    ]
