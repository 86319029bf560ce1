"""CPU threads of torch and numpy in a run: one for small networks, more where measured to pay."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from everlearn.blas import blas_threads
from everlearn.learners import Learner
from everlearn.networks.distributed import world_size
from everlearn.rendering.render import available_cpus
from everlearn.runs.spec import RunSpec
from everlearn.streams import Stream

VARIABLE = "OMP_NUM_THREADS"
"""A number that the user, a sweep or torchrun has chosen."""
SMALL_BYTES = 4_000_000
"""Weights up to which threads wait for each other longer than they work."""
MIN_SPEEDUP = 1.4
"""Twice as many threads are used if a training step is this many times as fast with them."""
N_ROUNDS = 3


def n_threads(
    spec: RunSpec, stream: Stream, learner: Learner, device: torch.device, recorded: int | None = None
) -> int:
    """The number of torch threads of a run.

    In this order: that of the spec; what was chosen outside of the run; that of the record which is resumed;
    one for a small network; what is measured. A resumed run keeps its number, since sums of several threads
    differ in their last bits.
    """
    if spec.threads is not None:
        return spec.threads
    if os.environ.get(VARIABLE) or world_size() > 1 or device.type != "cpu":
        return torch.get_num_threads()
    if recorded is not None and recorded <= available_cpus():
        return recorded
    if available_cpus() == 1 or learner.footprint().weights <= SMALL_BYTES:
        return 1
    return fastest(_training_step(spec, stream), available_cpus())


def fastest(work: Callable[[], object], limit: int, clock: Callable[[], float] = time.perf_counter) -> int:
    """The number of threads, a power of two up to a limit, to which doubling still paid."""
    threads = 1
    while 2 * threads <= limit and _speedup(work, threads, 2 * threads, clock) >= MIN_SPEEDUP:
        threads *= 2
    return threads


def _speedup(work: Callable[[], object], few: int, many: int, clock: Callable[[], float]) -> float:
    """How many times as fast work is with many threads; both alternate, and the shortest time counts."""
    seconds: dict[int, list[float]] = {few: [], many: []}
    for number in [few, many] * N_ROUNDS:
        with torch_threads(number):
            start = clock()
            work()
            seconds[number].append(clock() - start)
    return min(seconds[few]) / min(seconds[many])


def _training_step(spec: RunSpec, stream: Stream) -> Callable[[], object]:
    """A training step of another learner of the same spec, so that the measured one stays as it is."""
    learner, task = spec.build_learner(stream.image_shape), stream.task(0).for_learner()
    learner.begin(task)
    batch = task.train[: spec.batch_size]
    learner.learn(batch)
    return lambda: learner.learn(batch)


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    """Context in which torch and the matrix products of numpy use n threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with blas_threads(n):
            yield
    finally:
        torch.set_num_threads(before)
