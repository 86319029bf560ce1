"""Cost of an answer of `dcl` with 1,000, 5,000 and 50,000 classes in memory, in CPU time of one core."""

import os
import time

import numpy as np

from benchmarks.table import Row
from everlearn.learners import DCL
from everlearn.runs import RunSpec
from everlearn.runs.threads import VARIABLE, torch_threads
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

TRAINED_TASKS = 15
N_TASKS = (100, 500, 5000)
GOALS = {100: 5.0, 500: 10.0, 5000: 30.0}
"""Milliseconds of a single answer."""
N_IMAGES, N_SINGLE, ROUNDS = 600, 60, 3


def run() -> list[Row]:
    """The pose network is trained on a few tasks; exemplars of the others are only stored."""
    os.environ[VARIABLE] = "1"  # also read by the renderer and by alignment
    with torch_threads(1):
        return _measured()


def _measured() -> list[Row]:
    spec = RunSpec.make(learner="dcl")
    stream = spec.stream.build()
    learner = spec.build_learner(stream.image_shape)
    assert isinstance(learner, DCL)
    _train(learner, stream, spec.batch_size)
    rows = []
    for first, n_tasks in zip((TRAINED_TASKS, *N_TASKS), N_TASKS, strict=False):
        _store(learner, stream, first, n_tasks)
        rows += _answers(learner, stream, n_tasks)
    return rows


def _train(learner: DCL, stream: Stream, batch_size: int) -> None:
    for task in stream.take(TRAINED_TASKS):
        learner.begin(task.for_learner())
        for batch in task.train.shuffled(0, task.index, 0).batches(batch_size):
            learner.learn(batch)
        learner.end(task.for_learner())


def _store(learner: DCL, stream: Stream, first: int, end: int) -> None:
    learner.memory.add(Batch.concatenate([stream.task(k).exemplars for k in range(first, end)]))


def _answers(learner: DCL, stream: Stream, n_tasks: int) -> list[Row]:
    probe = stream.eval_sample(n_tasks, N_IMAGES)
    correct = learner.predict(probe.images) == probe.labels
    batches = [_milliseconds(learner, probe.images) / N_IMAGES for _ in range(ROUNDS)]
    single = [_milliseconds(learner, probe.images[i : i + 1]) for i in range(N_SINGLE)]
    what, spread = f"{10 * n_tasks:,} classes", np.percentile(single, [10, 90])
    return [
        Row(f"{what}: image in batches", float(np.median(batches)), "ms"),
        Row(
            f"{what}: single answer", float(np.median(single)), "ms", (float(spread[0]), float(spread[1])),
            GOALS[n_tasks], at_most=True,
        ),
        Row(f"{what}: accuracy", float(correct.mean()), "", counts=(int(correct.sum()), len(correct))),
    ]  # fmt: skip


def _milliseconds(learner: DCL, images: Images) -> float:
    """CPU time of answers that were not given before."""
    learner.exemplars.cache.clear()
    start = time.process_time()
    learner.predict(images)
    return 1000 * (time.process_time() - start)
