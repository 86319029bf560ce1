"""Rendered bytes do not depend on threads, batch, order or processor."""

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.rng import rng_at
from everlearn.shapes import ShapeFamily

GOLDEN = Path(__file__).parents[1] / "golden"
HASHES = json.loads((GOLDEN / "hashes.json").read_text())
N = 601
ALL_NUISANCES = Nuisances(noise=0.05, blur=0.7, occluder=0.1, clutter=3, lighting=0.5, texture=0.2)
FORMATS: dict[str, dict[str, object]] = {
    "gray uint8": {},
    "gray float32": {"dtype": np.float32},
    "rgb uint8": {"rgb": True},
    "rgb float32 channels first": {"rgb": True, "dtype": np.float32, "channels_first": True},
    "gray uint8 50 px": {"image_size": 50},
    "gray uint8 with nuisances": {"nuisances": ALL_NUISANCES},
    "rgb uint8 with nuisances": {"rgb": True, "nuisances": ALL_NUISANCES, "image_size": 33},
}


def images(
    options: dict[str, object], rows: np.ndarray | None = None, threads: int | None = None
) -> np.ndarray:
    """Rows of a fixed batch that covers every part of the renderer."""
    rows = np.arange(N) if rows is None else rows
    rng = rng_at(3, "determinism")
    scale, angle, x, y, *colour = rng.uniform(7 * N).reshape(7, N)
    factors = Factors(
        scale=0.3 + 1.9 * scale,
        angle=7 * angle,
        x=1.4 * x - 0.2,
        y=1.4 * y - 0.2,
        colour=np.stack(colour, axis=1),
    )
    outlines = ShapeFamily(seed=8).outlines(np.arange(20))
    keywords = {
        "image_size": 64,
        "which": np.arange(N)[rows] % 20,
        "rows": rows,
        "seed": 4,
        "threads": threads,
    }
    return render(outlines, factors[rows], **{**keywords, **options})  # type: ignore[arg-type]


def sha(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_are_fixed_for_any_threads_order_and_batch(name: str) -> None:
    whole = images(FORMATS[name], threads=1)
    assert sha(whole) == HASHES[f"images, {name}"]
    for threads in (2, 3):
        assert np.array_equal(whole, images(FORMATS[name], threads=threads))
    order = rng_at(0, "order").permutation(N)
    assert np.array_equal(images(FORMATS[name], rows=order), whole[order])
    for row in (0, 17, N - 1):
        assert np.array_equal(images(FORMATS[name], rows=np.array([row]))[0], whole[row])


def test_golden_images() -> None:
    """A few images in full, to make differences visible."""
    with np.load(GOLDEN / "images.npz") as golden:
        drawn = images({}, rows=np.arange(12))
        assert np.array_equal(drawn, golden["gray"])


def test_bytes_are_equal_in_forked_processes() -> None:
    whole = images({}, threads=2)  # threads have been used before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_hash_with_threads, [1, 2, 2]) == [sha(whole)] * 3


def _hash_with_threads(threads: int) -> str:
    return sha(images({}, threads=threads))


@pytest.mark.slow
def test_bytes_are_equal_on_another_processor(tmp_path: Path) -> None:
    """Code compiled for a generic processor has other vector widths and instructions."""
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    here = Path(__file__)
    script = f"""
import sys; sys.path.insert(0, {str(here.parent)!r})
from {here.stem} import FORMATS, images, sha
print(*(sha(images(options)) for options in FORMATS.values()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [HASHES[f"images, {name}"] for name in FORMATS]
