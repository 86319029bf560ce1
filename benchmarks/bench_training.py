"""Images per second of replay training: former and current default backbone, and a bare PyTorch loop."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.table import Row, interleaved
from everlearn.learners.er import ER
from everlearn.networks import make_backbone, to_tensor
from everlearn.runs.memory_limits import keep_freed_memory
from everlearn.streams import Batch, sprites

SIZE, N_NEW, N_REPLAYED = 64, 32, 96
N_LABELS = 5000
ROUNDS = 20
N_STEPS = 500 * 188
"""Steps of a run of figure 4: 500 tasks of 6,000 images in batches of 32."""
MAX_MINUTES = 60.0
LABELS = {f"er, bfloat16, {n:,} labels": n for n in (10, N_LABELS // 2, N_LABELS)}
Step = Callable[[], Any]


def run() -> list[Row]:
    """Images per CPU second of one thread; steps of all variants are interleaved."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as runs do
    batch = sprites(image_size=SIZE, factor_values=3).task(0).train[: N_NEW + N_REPLAYED]
    earlier: dict[str, Any] = {"learning_rate": 1e-3, "average": 0.0}
    steps: dict[str, Step] = {
        "er, small, as before": _er(batch, backbone="small", **earlier),
        "er, pooled, as before": _er(batch, backbone="pooled", **earlier),
        "er": _er(batch),
        "er, last weights": _er(batch, average=0.0),
        "er, batch normalization": _er(batch, norm="batch"),
        "er, group normalization": _er(batch, norm="group"),
        **{name: _in_bfloat16(_er(batch, n_labels=n)) for name, n in LABELS.items()},
        "bare PyTorch loop": _bare(batch),
        "bare PyTorch loop, bfloat16": _in_bfloat16(_bare(batch)),
        "bare PyTorch loop, fused Adam": _bare(batch, fused=True),
    }
    seconds = interleaved(steps, ROUNDS)
    rows = [
        Row(name, (N_NEW + N_REPLAYED) / float(np.median(each)), "images/s") for name, each in seconds.items()
    ]
    return [*rows, _long_run([float(np.median(seconds[name])) for name in LABELS])]


def _long_run(seconds: list[float]) -> Row:
    """CPU time of the steps of a run with as many labels as tasks, by Simpson's rule over the labels."""
    first, middle, last = seconds
    minutes = N_STEPS * (first + 4 * middle + last) / 6 / 60
    what = "500 tasks, from steps in bfloat16 with 10 to 5,000 labels"
    return Row(what, minutes, "min", goal=MAX_MINUTES, at_most=True)


def _er(batch: Batch, n_labels: int = 0, **settings: Any) -> Step:
    """A step of `er` whose buffer is not empty, with a head of some labels."""
    learner = ER(image_shape=(SIZE, SIZE), replay_size=N_REPLAYED, **settings)
    learner.add_labels(np.arange(n_labels))
    learner.learn(batch)
    return partial(learner.learn, batch[:N_NEW])


def _in_bfloat16(step: Step) -> Step:
    def autocast_step() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            step()

    return autocast_step


def _bare(batch: Batch, *, fused: bool = False) -> Step:
    """A minimal loop for the same network, without a buffer and averaged weights."""
    body = make_backbone("compact", (SIZE, SIZE), 0)
    net = nn.Sequential(body, nn.Linear(body.n_features, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, fused=fused)
    labels = torch.from_numpy(np.unique(batch.labels, return_inverse=True)[1])

    def step() -> None:
        loss = functional.cross_entropy(net(to_tensor(batch.images)), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step
