"""Cost of a training step: beside a bare PyTorch loop, and after many tasks / after few."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.table import Row, interleaved
from everlearn.learners.classifier import Classifier
from everlearn.learners.er import ER
from everlearn.learners.naive import Naive
from everlearn.networks import make_backbone
from everlearn.networks.tensors import MID_GRAY
from everlearn.streams import Batch, Stream, sprites

SIZE = 64
BATCH = 64
ROUNDS = 30
FEW, MANY = 5, 500
"""Tasks before the measurement."""
PEER_MANY = 100
"""Fewer tasks for the peer, whose training takes long."""
GOAL = 1.1


def run() -> list[Row]:
    """Both comparisons in CPU time of one thread."""
    torch.set_num_threads(1)
    stream = sprites(image_size=SIZE, classes_per_task=2, factor_values=3)
    return [_beside_bare(stream), *_after_many(stream), *_peer_after_many(stream)]


def _beside_bare(stream: Stream) -> Row:
    batch = stream.task(0).train[:BATCH]
    learner = Naive(image_shape=(SIZE, SIZE), backbone="small", average=0.0, learning_rate=1e-3)
    seconds = interleaved({"ours": lambda: learner.learn(batch), "bare": _bare(batch)}, ROUNDS)
    return _ratio("step of naive / bare PyTorch loop", seconds["ours"] / seconds["bare"], GOAL)


def _bare(batch: Batch) -> Callable[[], float]:
    """A minimal loop for the same network."""
    body = make_backbone("small", (SIZE, SIZE), 0)
    net = nn.Sequential(body, nn.Linear(body.n_features, 2))
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    labels = torch.from_numpy(np.unique(batch.labels, return_inverse=True)[1])

    def step() -> float:
        images = torch.from_numpy(batch.images).unsqueeze(1).float() / 255.0 - MID_GRAY
        loss = functional.cross_entropy(net(images), labels)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return float(loss.detach())

    return step


def _after_many(stream: Stream) -> list[Row]:
    """Steps of a learner after few and after many tasks, interleaved."""
    early, late = (_trained(ER(image_shape=(SIZE, SIZE)), stream, n) for n in (FEW, MANY))
    batch = stream.task(MANY).train[:BATCH]
    seconds = interleaved({"early": lambda: early.learn(batch), "late": lambda: late.learn(batch)}, ROUNDS)
    return [
        Row(f"step of er after {FEW} tasks", 1000 * float(np.median(seconds["early"])), "ms"),
        Row(f"step of er after {MANY} tasks", 1000 * float(np.median(seconds["late"])), "ms"),
        _ratio(f"step of er after {MANY} tasks / after {FEW}", seconds["late"] / seconds["early"], GOAL),
    ]


def _trained(learner: Classifier, stream: Stream, n_tasks: int) -> Classifier:
    for task in stream.take(n_tasks):
        learner.learn(task.train[:BATCH])
    return learner


def _peer_after_many(stream: Stream) -> list[Row]:
    """Avalanche's replay on the same tasks, including the update of its buffer."""
    seconds = _peer_seconds(stream, PEER_MANY)
    few, many = (float(np.median(seconds[n - FEW : n])) for n in (2 * FEW, PEER_MANY))
    return [
        Row(f"step of the peer's replay after {FEW} to {2 * FEW} tasks", 1000 * few, "ms"),
        Row(f"step of the peer's replay after {PEER_MANY} tasks", 1000 * many, "ms"),
        Row(f"step of the peer's replay after {PEER_MANY} tasks / after {FEW}", many / few, "x"),
    ]


def _peer_seconds(stream: Stream, n_tasks: int) -> list[float]:
    from benchmarks.avalanche import replay
    from everlearn.streams.adapters import to_avalanche

    body = make_backbone("small", (SIZE, SIZE), 0)
    net = nn.Sequential(body, nn.Linear(body.n_features, 2 * n_tasks))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of the peer
        strategy = replay(net, batch_size=BATCH, memory_size=2000)
        experiences = to_avalanche(stream, n_tasks).train_stream
        return [_timed(strategy, experiences[k]) for k in range(n_tasks)]


def _timed(strategy: Any, experience: Any) -> float:
    """Seconds for each batch of an experience."""
    start = time.thread_time()
    strategy.train(experience)
    return (time.thread_time() - start) / int(strategy.clock.train_exp_iterations)


def _ratio(what: str, ratios: "np.ndarray[Any, np.dtype[np.float64]]", goal: float) -> Row:
    low, high = np.percentile(ratios, [10, 90])
    return Row(what, float(np.median(ratios)), "x", (float(low), float(high)), goal, at_most=True)
