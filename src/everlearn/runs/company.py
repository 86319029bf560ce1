"""One big run: several processes that share the work of every batch."""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from everlearn import learners
from everlearn.errors import BadInput, check_range
from everlearn.networks.partners import PartnerLost, dismiss
from everlearn.rendering.threads import usable_cpus
from everlearn.runs.jobs.child import Child
from everlearn.runs.meeting import ARRIVED, Place, joined, open_store
from everlearn.runs.spec import RunSpec

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

MOST = 1024
LOOPBACK = "127.0.0.1"
INTERFACE = "GLOO_SOCKET_IFNAME"
"""Where gloo reads over which network it is to speak."""
LAST_WORDS = 5.0
"""Seconds in which a process that was lost can be expected to have ended."""
POLL = 0.05


@contextmanager
def together(spec: RunSpec, *, processes: int = 1) -> Iterator[None]:
    """Play a run in several processes of this machine, or in those that torchrun started.

    Inside, `record` and `resume` lead the others; what they write is the same as ever. Processes that were
    started end when this one does, in whatever way.

    Args:
        spec: what will be played; refused if its learner cannot share its work.
        processes: how many, this one among them.

    Example:
        >>> spec = RunSpec.make(learner="er")
        >>> with together(spec, processes=2):  # doctest: +SKIP
        ...     for event in record(spec, "records/er"):
        ...         pass
    """
    check_range("processes", processes, 1, MOST)
    place = Place.here()
    if place is not None and processes > 1:
        raise BadInput(f"processes is {processes}, but {place.n} were started already; leave it out")
    place = place or _first_of(processes)
    if place.n == 1:
        yield
        return
    check_shareable(spec, place)
    with joined(place) if place.port else _started(place):
        yield
        with suppress(PartnerLost):  # all is played and recorded; nobody is needed any more
            dismiss()


def check_shareable(spec: RunSpec, place: Place) -> None:
    """Complain if so many processes cannot share the work of a run."""
    name, n = spec.learner.name, place.n
    if not learners.learner_class(name).shareable:
        able = [each for each in learners.names() if learners.learner_class(each).shareable]
        raise BadInput(
            f"{name} cannot share its work, so {n} processes would all do the same; use one, or a learner "
            f"that can ({', '.join(able)})"
        )
    if spec.batch_size < n:
        raise BadInput(f"batch_size is {spec.batch_size}, too few for {n} processes to share; make it larger")
    if spec.device not in ("cpu", "cuda"):
        raise BadInput(f"device is {spec.device}; several processes compute on cpu or on cuda, a card each")
    if spec.device == "cuda" and (n_cards := torch.cuda.device_count()) < place.n_local:
        raise BadInput(f"device is cuda, but {n_cards} cards are too few for {place.n_local} processes")


def _first_of(n: int) -> Place:
    """The place of this process among those that it will start."""
    return Place(rank=0, n=n, local_rank=0, n_local=n, host=LOOPBACK, port=0)


@contextmanager
def _started(place: Place) -> Iterator[None]:
    """Start the others, lead them, and see that none is left behind."""
    door = socket.create_server((place.host, 0))  # a free one, so that it does not matter who has which
    place = replace(place, port=door.getsockname()[1])
    store = open_store(place, door.detach())
    with ExitStack() as stack:
        threads = stack.enter_context(_fewer_threads(place.n))
        stack.enter_context(_on_loopback())
        others = [replace(place, rank=rank, local_rank=rank) for rank in range(1, place.n)]
        children = [
            stack.enter_context(closing(Child(["run"], threads=threads, environment=other.environment())))
            for other in others
        ]
        try:
            _await(store, children)
            with joined(place, store):
                yield
        except PartnerLost as error:
            raise PartnerLost(f"{_reason(children)}{error}") from error


def _await(store: "Store", children: Sequence[Child]) -> None:
    """Wait until all have come, but not for one that has ended."""
    while store.add(ARRIVED, 0) < len(children):
        if not all(child.is_alive for child in children):
            raise PartnerLost("the run cannot begin")
        time.sleep(POLL)


@contextmanager
def _fewer_threads(n: int) -> Iterator[int]:
    """As many threads of arithmetic in each process as let all together have the machine, and not more."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, max(1, usable_cpus() // n)))
    try:
        yield torch.get_num_threads()
    finally:
        torch.set_num_threads(before)


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Let nobody outside this machine listen or speak; nor does it matter what the machine is called."""
    before = os.environ.get(INTERFACE)
    os.environ[INTERFACE] = socket.if_indextoname(1)
    try:
        yield
    finally:
        del os.environ[INTERFACE]
        os.environ |= {} if before is None else {INTERFACE: before}


def _reason(children: Sequence[Child]) -> str:
    """Which of the others ended, and why, as far as one can tell."""
    for rank, child in enumerate(children, start=1):
        if child.ends_within(LAST_WORDS / len(children)):
            return f"process {rank} of {len(children) + 1} ended ({child.reason()}): "
    return ""
