"""Data-parallel runs: one run in several processes.

Every rank runs the whole training loop with the same learner; only the networks split their batches. Rank 0
writes the record. All ranks compare their events and stop after the same one.
"""

import hashlib
import json
import os
import signal
import socket
import sys
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
from everlearn.registry import add_sources, recorded_sources
from everlearn.rendering.render import available_cpus
from everlearn.runs.events import Event, RunEnded
from everlearn.runs.loop import RunState
from everlearn.runs.signals import StopSignal
from everlearn.runs.spec import RunSpec
from everlearn.serialization import pack, unpack

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

    from everlearn.runs.child_process import ChildProcess

TIMEOUT = timedelta(minutes=10)
"""Maximum time to wait for a rank that does not answer."""
N_JOINED = "joined"
"""Key of the store that counts the ranks that have joined."""
MAX_PROCESSES = 1024
LOOPBACK = "127.0.0.1"
GLOO_INTERFACE = "GLOO_SOCKET_IFNAME"
EXIT_TIMEOUT = 5.0
"""Seconds within which a lost rank should have ended."""
POLL_INTERVAL = 0.05
VARIABLES = {
    "rank": "RANK",
    "world_size": "WORLD_SIZE",
    "local_rank": "LOCAL_RANK",
    "local_world_size": "LOCAL_WORLD_SIZE",
    "host": "MASTER_ADDR",
    "port": "MASTER_PORT",
    "restart": "TORCHELASTIC_RESTART_COUNT",
}
"""Environment variables of torchrun, by the attributes of `RankInfo`."""


class RanksDisagree(BadInput):
    """The ranks have computed different results."""


@dataclass(frozen=True, kw_only=True)
class RankInfo:
    """Rank of this process, and the address of the rendezvous."""

    rank: int  # 0 writes the record
    world_size: int  # number of processes
    local_rank: int  # rank among the processes of this machine
    local_world_size: int  # number of processes of this machine
    host: str  # machine of the rendezvous
    port: int  # its port there; 0 if it is not open yet
    restart: int = 0  # how often torchrun has restarted the processes

    @classmethod
    def from_environment(cls) -> Self | None:
        """The rank that torchrun, or rank 0, gave this process; None outside a group."""
        given = {name: os.environ.get(variable, "") for name, variable in VARIABLES.items()}
        host, rank, world_size = given.pop("host"), given["rank"], given["world_size"]
        if not host or not all(number.isdecimal() for number in (rank, world_size, given["port"])):
            return None
        defaults = {"local_rank": rank, "local_world_size": world_size, "restart": "0"}
        numbers = {name: int(value or defaults[name]) for name, value in given.items()}
        return cls(host=host, **numbers) if numbers["world_size"] > 1 else None

    def environment(self) -> dict[str, str]:
        """The variables that `from_environment` reads."""
        return {variable: str(getattr(self, name)) for name, variable in VARIABLES.items()}


@contextmanager
def process_group(spec: RunSpec, *, processes: int = 1) -> Iterator[None]:
    """Run `record` and `resume` inside this context in several processes of this machine, or under torchrun.

    The record is the same as that of one process. The other processes end with this one.

    Args:
        spec: the run; its learner must support data parallelism.
        processes: number of processes, including this one.

    Example:
        >>> spec = RunSpec.make(learner="er")
        >>> with process_group(spec, processes=2):  # doctest: +SKIP
        ...     for event in record(spec, "records/er"):
        ...         pass
    """
    check_range("processes", processes, 1, MAX_PROCESSES)
    info = RankInfo.from_environment()
    if sys.platform == "win32" and (processes > 1 or info is not None):
        raise BadInput("a run in several processes needs Linux or macOS; use one process, or WSL")
    if info is not None and processes > 1:
        raise BadInput(f"processes is {processes}, but torchrun started {info.world_size}; omit it")
    if info is None and processes == 1:
        yield
        return
    info = info or RankInfo(
        rank=0, world_size=processes, local_rank=0, local_world_size=processes, host=LOOPBACK, port=0
    )
    _check_data_parallel(spec, info)
    with joined_group(info) if info.port else _launched_group(info):
        yield
        with suppress(RankLost):  # the run is recorded, so a lost rank does not matter any more
            shutdown_workers()


def _check_data_parallel(spec: RunSpec, info: RankInfo) -> None:
    """Raise an error if the run cannot be split over the processes."""
    name, n = spec.learner.name, info.world_size
    if not learners.learner_class(name).supports_data_parallel:
        able = [each for each in learners.names() if learners.learner_class(each).supports_data_parallel]
        raise BadInput(
            f"{name} does not support data parallelism; use one process, or one of {', '.join(able)}"
        )
    if spec.batch_size < n:
        raise BadInput(f"batch_size is {spec.batch_size}, too small for {n} processes; increase it")
    if spec.device not in ("auto", "cpu", "cuda"):
        raise BadInput(f"device is {spec.device}; several processes need cpu, or cuda with a GPU each")
    if spec.device == "cuda" and (n_gpus := torch.cuda.device_count()) < info.local_world_size:
        raise BadInput(f"device is cuda, but {info.local_world_size} processes have only {n_gpus} GPUs")


@contextmanager
def joined_group(info: RankInfo, store: "Store | None" = None) -> Iterator[None]:
    """Join the process group."""
    has_gpu = torch.cuda.device_count() >= info.local_world_size
    if has_gpu:
        torch.cuda.set_device(info.local_rank)  # from now on the device of "cuda"
    backend = "cpu:gloo,cuda:nccl" if has_gpu else "gloo"
    try:
        store = store or open_store(info)
        store.add(N_JOINED, 1)
        dist.init_process_group(
            backend, store=store, rank=info.rank, world_size=info.world_size, timeout=TIMEOUT
        )
    except RuntimeError as error:
        raise RankLost(f"the processes of this run cannot connect ({error!s:.200})") from error
    try:
        yield
    finally:
        dist.destroy_process_group()


def open_store(info: RankInfo, listen_fd: int | None = None) -> "Store":
    """The rendezvous store; rank 0 hosts it, unless torchrun does."""
    is_host = info.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != str(True)
    store = dist.TCPStore(  # type: ignore[attr-defined]  # exported by torch, but not by name
        info.host,
        info.port,
        is_master=is_host,
        timeout=TIMEOUT,
        wait_for_workers=False,
        master_listen_fd=listen_fd,
    )
    # A restarted process must not find the addresses of the previous attempt.
    return dist.PrefixStore(f"attempt {info.restart}", store)  # type: ignore[attr-defined]  # as above


@contextmanager
def _launched_group(info: RankInfo) -> Iterator[None]:
    """Launch the other ranks on this machine and join them; none outlives this context."""
    from everlearn.runs.child_process import ChildProcess  # runs of one process do not need it

    server = socket.create_server((info.host, 0))  # a free port, held until the store takes it over
    info = replace(info, port=server.getsockname()[1])
    store = open_store(info, server.detach())
    with ExitStack() as stack:
        threads = stack.enter_context(_split_threads(info.world_size))
        stack.enter_context(_loopback_only())
        children = []
        for rank in range(1, info.world_size):
            variables = replace(info, rank=rank, local_rank=rank).environment()
            child = ChildProcess(["run"], threads=threads, environment=variables)
            children.append(stack.enter_context(closing(child)))
        try:
            _wait_for_ranks(store, children)
            with joined_group(info, store):
                yield
        except RankLost as error:
            raise RankLost(f"{_exit_reason(children)}{error}") from error


def _wait_for_ranks(store: "Store", children: "Sequence[ChildProcess]") -> None:
    while store.add(N_JOINED, 0) < len(children):
        if not all(child.is_alive for child in children):
            raise RankLost("the run cannot start")
        time.sleep(POLL_INTERVAL)


@contextmanager
def _split_threads(n: int) -> Iterator[int]:
    """Limit the threads of each process so that all together do not exceed the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, max(1, available_cpus() // n)))
    try:
        yield torch.get_num_threads()
    finally:
        torch.set_num_threads(before)


@contextmanager
def _loopback_only() -> Iterator[None]:
    """Let gloo use the loopback interface, which other machines cannot reach."""
    before = os.environ.get(GLOO_INTERFACE)
    os.environ[GLOO_INTERFACE] = socket.if_indextoname(1)
    try:
        yield
    finally:
        del os.environ[GLOO_INTERFACE]
        os.environ |= {} if before is None else {GLOO_INTERFACE: before}


def _exit_reason(children: "Sequence[ChildProcess]") -> str:
    """The rank that ended, and the reason if it is known."""
    for rank, child in enumerate(children, start=1):
        if child.wait(EXIT_TIMEOUT / len(children)) is not None:
            return f"rank {rank} of {len(children) + 1} ended ({child.error()}): "
    return ""


def broadcast_run(run: RunState) -> None:
    """Rank 0: send the state of a run to the other ranks, if there are any."""
    if world_size() > 1:
        from everlearn.streams.images.arrays import content_folders

        places = json.dumps({"sources": recorded_sources(), "folders": content_folders()})
        broadcast_bytes(pack({"spec": run.spec.to_mapping(), "places": places, "state": run.state()}))


def follow_rank_0() -> None:
    """Other ranks: take part in the runs of rank 0 until it shuts down, or a rank receives a stop signal."""
    from everlearn.streams.images.arrays import add_content_folder

    with StopSignal() as stop, suppress(ShutDown):
        while True:
            received = unpack(broadcast_bytes(b""))
            places = json.loads(received["places"])
            add_sources(places["sources"])
            for folder in places["folders"]:
                add_content_folder(Path(folder))
            run = RunState(RunSpec.from_mapping(received["spec"]))
            run.load(received["state"])
            for event in run.events():
                if agree_on_stop(event, stop.received):
                    return


def agree_on_stop(event: Event, received: signal.Signals | None) -> signal.Signals | None:
    """The stop signal that any rank has received, if the run can be checkpointed after this event.

    Raises an error if the ranks have different events.
    """
    if world_size() > 1 and not isinstance(event, RunEnded):
        ranks = all_gather_ints(received or 0, _fingerprint(event))
        if len({fingerprint for _, fingerprint in ranks}) > 1:
            raise RanksDisagree(
                f"the processes of this run have different results ({event.kind}); use the same versions of "
                "everlearn and torch, and the same kind of processor, for all of them"
            )
        number, _ = max(ranks)
        received = signal.Signals(number) if number else None
    return received if event.checkpointable else None


def _fingerprint(event: Event) -> int:
    text = json.dumps(event.to_json(), sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())


@contextmanager
def rank_error_context(folder: Path) -> Iterator[None]:
    """Add to errors of lost ranks the command that continues the run."""
    try:
        yield
    except (RankLost, RanksDisagree) as error:
        raise type(error)(
            f"{error}; the record is intact: continue with `{resume_command(folder)}`"
        ) from error


def resume_command(folder: Path) -> str:
    """The command that resumes a run with the same number of processes."""
    return f"everlearn resume {folder}" + (f" --processes {world_size()}" if world_size() > 1 else "")
