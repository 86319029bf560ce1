"""A stream of a few small images with all optional parts."""

import numpy as np

from everlearn.factors import Factors
from everlearn.rng import rng_at
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Batch, Split, Stream, Task

ROWS = {"train": 6, "val": 2, "test": 4, "held_out": 3}
SIZE = 16


class TinySettings(StreamSettings):
    kind = "tiny"
    seed: int = 0
    rgb: bool = False
    factors: bool = True
    held_out: bool = True
    provides_task_ids: bool = False
    n_tasks: int | None = 4

    def build(self) -> "TinyStream":
        return TinyStream(**dict(self))


class TinyStream(Stream):
    id = "tiny/class-incremental-v1"

    def __init__(self, **settings: object) -> None:
        self.spec: TinySettings = TinySettings(**settings)
        self.n_tasks = self.spec.n_tasks
        self.drawn: list[int] = []

    def load_task(self, k: int) -> Task:
        def load(split: Split) -> Batch:
            n = 0 if split == "held_out" and not self.spec.held_out else ROWS[split]
            return self._batch(k, list(ROWS).index(split), n)

        return Task(
            k, (2 * k, 2 * k + 1), load, lambda: self._batch(k, 9, 2), name=f"tiny {k}", ordered=k == 1
        )

    def _batch(self, k: int, part: int, n: int) -> Batch:
        self.drawn.append(k)
        shape = (n, SIZE, SIZE, 3) if self.spec.rgb else (n, SIZE, SIZE)
        rng = rng_at(self.spec.seed, "tiny", k, part)
        images = rng.integers(int(np.prod(shape)), 256).astype(np.uint8).reshape(shape)
        return Batch(
            images,
            2 * k + np.arange(n) % 2,
            self._factors(rng, n) if self.spec.factors else None,
            np.full(n, k) if self.spec.provides_task_ids else None,
        )

    def _factors(self, rng, n: int) -> Factors:
        scale, angle, x, y = (rng.uniform(n, 0.1) for _ in range(4))
        return Factors(scale, angle, x, y, rng.uniform(3 * n).reshape(n, 3))

    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        return Batch.concatenate([self.task(k).test for k in range(n_tasks)])[:size]


def same_task(a: Task, b: Task) -> bool:
    parts = ("train", "val", "test", "held_out", "exemplars")
    return a == b and all(getattr(a, part) == getattr(b, part) for part in parts)


def tree(folder) -> dict[str, bytes]:
    """Every file of a folder, by its relative name."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
