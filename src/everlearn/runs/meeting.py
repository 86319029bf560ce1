"""How the processes of one run meet: each has a place, which torchrun gave it, or we did."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

import torch
import torch.distributed as dist

from everlearn.networks.partners import PartnerLost

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
        raise PartnerLost(f"the processes of this run did not find each other ({error!s:.200})") from error
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
