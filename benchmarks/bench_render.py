"""Images per second, beside the peer's `draw`, which gives RGB float32 (3, H, W)."""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import peer
from benchmarks.table import Row, interleaved, ratio_row
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.rng import IntArray, rng_at
from everlearn.shapes import Outlines, ShapeFamily

N_SHAPES = 10
BATCH = {64: 4096, 128: 1024, 256: 512}
BATCHES = (256, 4096)
PEER_BATCH = {64: 60, 128: 20, 256: 8}
GOALS = {(64, "gray uint8"): 100.0, (256, "gray uint8"): 150.0, (64, "RGB float32 CHW"): 45.0}
FORMATS: dict[str, dict[str, Any]] = {
    "gray uint8": {},
    "RGB uint8 HWC": {"rgb": True},
    "RGB float32 CHW": {"rgb": True, "dtype": np.float32, "channels_first": True},
}


def run() -> list[Row]:
    """Each format and size beside the peer with one thread; two threads beside one."""
    rows = [row for size in BATCH for row in _beside_peer(size)]
    rows += [row for size, name in GOALS for row in _batches(size, name)]
    return rows + [row for size in (64, 256) for row in _two_threads(size)]


def _beside_peer(size: int) -> list[Row]:
    data = peer.dataset(size, N_SHAPES)
    poses = peer.poses(data, PEER_BATCH[size])
    works: dict[str, Callable[[], object]] = {"peer": lambda: [data.draw(pose) for pose in poses]}
    works |= {name: _workload(size, BATCH[size], threads=1, **options) for name, options in FORMATS.items()}
    seconds = interleaved(works)
    per_image = {name: s / BATCH[size] for name, s in seconds.items()} | {
        "peer": seconds["peer"] / len(poses)
    }
    rows = [Row(f"peer {size} px RGB float32 CHW", 1 / float(np.median(per_image["peer"])), "images/s")]
    for name in FORMATS:
        ours = per_image[name]
        rows.append(Row(f"ours {size} px {name}, 1 thread", 1 / float(np.median(ours)), "images/s"))
        goal = GOALS.get((size, name))
        rows.append(ratio_row(f"ours {size} px {name} / peer", per_image["peer"], ours, goal))
    return rows


def _batches(size: int, name: str) -> list[Row]:
    """Images in small and large batches beside the peer, and beside writing the same bytes."""
    data, rows, options = peer.dataset(size, N_SHAPES), [], FORMATS[name]
    poses = peer.poses(data, PEER_BATCH[size])
    for n in BATCHES:
        bytes_alone = partial(np.empty_like(_images(size, n, **options)).fill, 1)
        works: dict[str, Callable[[], object]] = {
            "peer": lambda: [data.draw(pose) for pose in poses],
            "ours": _repeated(_workload(size, n, threads=1, **options), max(BATCHES) // n),
            "bytes": _repeated(bytes_alone, max(BATCHES) // n),
        }
        seconds = interleaved(works, rounds=10)
        ours, what = seconds["ours"] / max(BATCHES), f"ours {size} px {name}, batches of {n:,}"
        rows.append(Row(f"{what}, 1 thread", 1 / float(np.median(ours)), "images/s"))
        rows.append(ratio_row(f"{what} / peer", seconds["peer"] / len(poses), ours, GOALS[size, name]))
        rows.append(
            ratio_row(f"{what}, share of the speed of writing bytes", seconds["bytes"], seconds["ours"])
        )
    return rows


def _repeated(work: Callable[[], object], times: int) -> Callable[[], object]:
    """Small batches one after the other, as in a loop, so that all rounds render as many images."""
    return lambda: [work() for _ in range(times)]


def _two_threads(size: int) -> list[Row]:
    works = {f"{n}": _workload(size, 4 * BATCH[size], threads=n) for n in (1, 2)}
    wall = interleaved(works, clock=time.perf_counter)
    # Wall time is unreliable on a busy machine; CPU time shows that two threads need no more work.
    cpu = interleaved(works, clock=time.process_time)
    what = f"ours {size} px gray uint8, 2 threads / 1"
    return [
        ratio_row(f"{what}, wall", wall["1"], wall["2"], 1.7),
        ratio_row(f"{what}, work per CPU second", cpu["1"], cpu["2"]),
    ]


def _workload(size: int, batch: int, threads: int, **options: Any) -> Callable[[], object]:
    out = _images(size, batch, **options)
    return lambda: _images(size, batch, threads=threads, out=out, **options)


def _images(size: int, batch: int, **options: Any) -> npt.NDArray[Any]:
    """A batch of the same shapes in random poses, drawn into `out` if given."""
    outlines, factors, which = _drawn(batch)
    return render(outlines, factors, size, which=which, **options)


@lru_cache
def _drawn(batch: int) -> tuple[Outlines, Factors, IntArray]:
    rng = rng_at(0, "bench")
    scale, angle, x, y = rng.uniform(4 * batch).reshape(4, batch)
    factors = Factors(scale=0.5 + 0.5 * scale, angle=2 * np.pi * angle, x=x, y=y)
    which = rng.integers(batch, N_SHAPES)
    outlines = ShapeFamily().outlines(np.arange(N_SHAPES))
    return outlines, factors, which
