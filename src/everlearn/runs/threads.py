"""CPU threads of torch and numpy in a run: one for small networks, more if a measurement shows a speed-up."""

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
"""Environment variable of a number that the user, a sweep or torchrun has chosen."""
SMALL_BYTES = 4_000_000
"""Bytes of weights up to which one thread is used, since synchronization would dominate."""
MIN_SPEEDUP = 1.4
"""Twice as many threads are used if a training step is this many times as fast with them."""
N_ROUNDS = 3


def n_threads(
    spec: RunSpec, stream: Stream, learner: Learner, device: torch.device, recorded: int | None = None
) -> int:
    """The number of torch threads of a run.

    The first that applies: the setting of the spec; a choice outside of the run; the number of the record
    that is resumed; one for a small network; the fastest number. A resumed run keeps its number, since sums
    of several threads differ in their last bits.
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
    """The number of threads: doubled, up to a limit, as long as each doubling speeds up the work enough."""
    threads = 1
    while 2 * threads <= limit and _speedup(work, threads, 2 * threads, clock) >= MIN_SPEEDUP:
        threads *= 2
    return threads


def _speedup(work: Callable[[], object], few: int, many: int, clock: Callable[[], float]) -> float:
    """Speed-up of many threads over few; measurements alternate, and the shortest time of each counts."""
    seconds: dict[int, list[float]] = {few: [], many: []}
    for number in [few, many] * N_ROUNDS:
        with torch_threads(number):
            start = clock()
            work()
            seconds[number].append(clock() - start)
    return min(seconds[few]) / min(seconds[many])


def _training_step(spec: RunSpec, stream: Stream) -> Callable[[], object]:
    """A training step of a new learner of the same spec, so that the learner of the run does not change."""
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
