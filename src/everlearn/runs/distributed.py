"""One run in several processes: the first leads and keeps the record, the others play the same along.

All of them play the whole loop with the same learner; only their networks share the work (`data_parallel`).
"""

import hashlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

import torch
import torch.distributed as dist

from everlearn import learners
from everlearn.errors import BadInput, check_range
from everlearn.networks.distributed import (
    RankLost,
    ShutDown,
    all_gather_ints,
    broadcast_bytes,
    shutdown_workers,
    world_size,
)
from everlearn.rendering.render import available_cpus
from everlearn.runs.events import Event, RunEnded
from everlearn.runs.loop import Play
from everlearn.runs.signals import Wish
from everlearn.runs.spec import RunSpec
from everlearn.runs.sweep.executors import Child
from everlearn.serialization import pack, unpack

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store


PATIENCE = timedelta(minutes=10)
"""How long a process that says nothing, yet has not ended, is waited for."""
ARRIVED = "arrived"
"""Where it is counted how many have come."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which of the processes of a run this one is, and where they meet.

    Attributes:
        rank: its number; 0 leads and keeps the record.
        n: how many there are.
        local_rank: its number among those on this machine.
        n_local: how many are on this machine.
        host: the machine where they meet.
        port: and at which door of it.
        attempt: how often torchrun has started all of them again.
    """

    rank: int
    n: int
    local_rank: int
    n_local: int
    host: str
    port: int
    attempt: int = 0

    @classmethod
    def here(cls) -> Self | None:
        """The place that whoever started this process gave it; None if it plays alone."""
        rank, n, host, port = map(_told, ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
        if not host or not all(number.isdecimal() for number in (rank, n, port)) or int(n) < 2:
            return None
        return cls(
            rank=int(rank),
            n=int(n),
            local_rank=int(_told("LOCAL_RANK") or rank),
            n_local=int(_told("LOCAL_WORLD_SIZE") or n),
            host=host,
            port=int(port),
            attempt=int(_told("TORCHELASTIC_RESTART_COUNT") or 0),
        )

    def environment(self) -> dict[str, str]:
        """What a process must find in its environment to be in this place, as torchrun would put it."""
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.n),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.n_local),
            "MASTER_ADDR": self.host,
            "MASTER_PORT": str(self.port),
            "TORCHELASTIC_RESTART_COUNT": str(self.attempt),
        }


@contextmanager
def joined(place: Place, store: "Store | None" = None) -> Iterator[None]:
    """Meet the other processes; inside, they answer each other.

    Args:
        place: which of them this one is.
        store: the meeting place, if it is open already.
    """
    has_card = torch.cuda.device_count() >= place.n_local
    if has_card:
        torch.cuda.set_device(place.local_rank)  # the one that `cuda` means from now on
    backend = "cpu:gloo,cuda:nccl" if has_card else "gloo"
    try:
        met = store or open_store(place)
        met.add(ARRIVED, 1)
        dist.init_process_group(backend, store=met, rank=place.rank, world_size=place.n, timeout=PATIENCE)
    except RuntimeError as error:
        raise RankLost(f"the processes of this run did not find each other ({error!s:.200})") from error
    try:
        yield
    finally:
        dist.destroy_process_group()


def open_store(place: Place, door: int | None = None) -> "Store":
    """The meeting place; the first process keeps it, unless torchrun does.

    Args:
        place: which process this one is.
        door: the number of a socket that listens already, for the first process.
    """
    is_host = place.rank == 0 and _told("TORCHELASTIC_USE_AGENT_STORE") != str(True)
    store = dist.TCPStore(  # type: ignore[attr-defined]  # torch exports it, yet not by name
        place.host,
        place.port,
        is_master=is_host,
        timeout=PATIENCE,
        wait_for_workers=False,
        master_listen_fd=door,
    )
    # A process that was started again must not find the addresses of the attempt before.
    return dist.PrefixStore(f"attempt {place.attempt}", store)  # type: ignore[attr-defined]  # as above


def _told(name: str) -> str:
    return os.environ.get(name, "")


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
        with suppress(RankLost):  # all is played and recorded; nobody is needed any more
            shutdown_workers()


def check_shareable(spec: RunSpec, place: Place) -> None:
    """Complain if so many processes cannot share the work of a run."""
    name, n = spec.learner.name, place.n
    if not learners.learner_class(name).supports_data_parallel:
        able = [each for each in learners.names() if learners.learner_class(each).supports_data_parallel]
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
        except RankLost as error:
            raise RankLost(f"{_reason(children)}{error}") from error


def _await(store: "Store", children: Sequence[Child]) -> None:
    """Wait until all have come, but not for one that has ended."""
    while store.add(ARRIVED, 0) < len(children):
        if not all(child.is_alive for child in children):
            raise RankLost("the run cannot begin")
        time.sleep(POLL)


@contextmanager
def _fewer_threads(n: int) -> Iterator[int]:
    """As many threads of arithmetic in each process as let all together have the machine, and not more."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, max(1, available_cpus() // n)))
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


class PartnersDisagree(BadInput):
    """Processes that should compute the same do not."""


def lead(play: Play) -> None:
    """Let the other processes, if there are any, play along from where the play is."""
    if world_size() > 1:
        broadcast_bytes(pack({"spec": play.spec.to_mapping(), "state": play.state()}))


def follow() -> None:
    """Play along with the first process until it dismisses us, or until anybody is asked to stop."""
    with Wish() as wish, suppress(ShutDown):
        while True:
            given = unpack(broadcast_bytes(b""))
            play = Play(RunSpec.from_mapping(given["spec"]))
            play.load(given["state"])
            for event in play.events():
                if agreed(event, wish.received):
                    return


def agreed(event: Event, received: signal.Signals | None) -> signal.Signals | None:
    """What asked to stop here, if anything did, whichever process it asked.

    All come together at every event, and find out if they do not tell the same story.
    """
    if world_size() > 1 and not isinstance(event, RunEnded):
        everybody = all_gather_ints(received or 0, _fingerprint(event))
        if len({fingerprint for _, fingerprint in everybody}) > 1:
            raise PartnersDisagree(
                f"the processes of this run do not agree on what happened ({event.kind}); let all of them "
                "have the same everlearn, torch and kind of processor"
            )
        asked, _ = max(everybody)
        received = signal.Signals(asked) if asked else None
    return received if event.safe else None


@contextmanager
def told_of_partners(folder: Path) -> Iterator[None]:
    """Say how to go on when a process of the run was lost."""
    try:
        yield
    except (RankLost, PartnersDisagree) as error:
        raise type(error)(f"{error}; nothing saved was lost: go on with `{to_resume(folder)}`") from error


def to_resume(folder: Path) -> str:
    """The command that plays a record on as exactly as it was begun."""
    return f"everlearn resume {folder}" + (f" --processes {world_size()}" if world_size() > 1 else "")


def _fingerprint(event: Event) -> int:
    told = json.dumps(event.to_json(), sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=7).digest())
