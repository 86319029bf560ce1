"""A workshop on the nodes of a Ray cluster."""

import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from everlearn import files
from everlearn.errors import BadInput, import_optional
from everlearn.runs.sweep.executors import Capacity, Child, Where, Workshop

ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9_.\-]+):(?P<port>[0-9]{1,5})")
OURSELVES = ("localhost", "127.0.0.1")
PATIENCE = 5.0
"""Seconds in which the head of a cluster must answer."""
LAST_PORT = 65535
RETRIES = ("RAY_NUM_REDIS_GET_RETRIES", "3")
"""How often Ray asks a head that refuses it; read when it is loaded."""
STDERR = 2


@contextmanager
def connected(address: str | None) -> Iterator[ModuleType]:
    """Ray, connected to a cluster until the end of the block; what was started there ends with it.

    Args:
        address: host:port of the head; whatever `ray start` has left on this machine if not said.
    """
    given = check_address(address or os.environ.get("RAY_ADDRESS"))
    ray = _ray()
    if given is not None:
        _check_answers(ray, given)
    try:
        with _quiet():
            ray.init(given or "auto", log_to_driver=False, configure_logging=False)
    except Exception as error:  # Ray raises many kinds of errors for a cluster that cannot be used
        raise _unusable(given, error) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _ray() -> ModuleType:
    os.environ.setdefault(*RETRIES)
    return import_optional("ray", "pip install 'everlearn[ray]'")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Ray's own code prints about a connection out of sight; what failed is raised as well."""
    kept, nowhere = os.dup(STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDERR)
    try:
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        os.close(nowhere)


def check_address(address: str | None) -> str | None:
    """An address that could be one, or nothing where nothing was said.

    Example:
        >>> check_address("10.0.0.1:6379")
        '10.0.0.1:6379'
        >>> check_address("10.0.0.1")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: the address '10.0.0.1' is not one of a Ray cluster; write host:port, ...
    """
    if address in (None, "", "auto"):
        return None
    found = ADDRESS.fullmatch(address or "")
    if found is None or not 0 < int(found["port"]) <= LAST_PORT:
        raise BadInput(
            f"the address {address!r} is not one of a Ray cluster; "
            "write host:port, as `ray start --head` prints it"
        )
    return address


def _check_answers(ray: ModuleType, address: str) -> None:
    """Ray itself waits for minutes, and without a word."""
    host, _, port = address.rpartition(":")
    if host in OURSELVES:
        host = ray.util.get_node_ip_address()  # as Ray will
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except OSError as error:
        why = "it took too long" if isinstance(error, TimeoutError) else str(error.strerror or error).lower()
        raise BadInput(
            f"no Ray cluster answers at {host}:{port} ({why}); "
            "check the address, or start one with `ray start --head`"
        ) from None


def _unusable(address: str | None, error: Exception) -> BadInput:
    if address is None and isinstance(error, ConnectionError):
        return BadInput(
            "no Ray cluster was found on this machine; start one with `ray start --head`, "
            "or say where it is with --address host:port"
        )
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return BadInput(
        f"cannot join the Ray cluster at {address or 'this machine'} ({said:.200}); "
        "run this on one of its nodes, with its token if it has one"
    )


STORAGE_TIMEOUT = 60.0
"""Seconds in which every node must have answered."""
ALIKE = ("everlearn", "torch", "numpy")
"""What must be the same everywhere, lest runs end differently."""


def check_shared(ray: ModuleType, nodes: Iterable[Mapping[str, Any]], folders: Sequence[Path]) -> None:
    """Complain unless every node finds in each folder what we put there, and we what it puts there."""
    word = secrets.token_hex(8)
    probes = [folder / f".probe-{word}" for folder in folders]
    try:
        for probe in probes:
            files.write(probe, word.encode())
        asked = [(node, _ask(ray, node, probes)) for node in nodes]
        for node, reference in asked:
            _check(node, _heard(ray, node, reference), probes)
    finally:
        for path in (path for probe in probes for path in probe.parent.glob(f"{probe.name}*")):
            path.unlink(missing_ok=True)


def answer(probes: Sequence[str], node: str) -> dict[str, str]:
    """On a node: answer each probe that is seen, and tell with what one would be working here."""
    for probe in filter(Path.is_file, map(Path, probes)):
        _answered(probe, node).write_bytes(probe.read_bytes())
    return _versions()


def _ask(ray: ModuleType, node: Mapping[str, Any], probes: Sequence[Path]) -> Any:
    pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    there = pinned(node_id=node["NodeID"], soft=False)
    ask = ray.remote(answer).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
    return ask.remote([str(probe) for probe in probes], node["NodeID"])


def _heard(ray: ModuleType, node: Mapping[str, Any], reference: Any) -> Mapping[str, str]:
    try:
        versions: Mapping[str, str] = ray.get(reference, timeout=STORAGE_TIMEOUT)
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines()[-1]
        raise BadInput(
            f"the node {_name(node)} can do nothing for everlearn ({said:.200}); "
            "install the same everlearn there, and let it write where this machine does"
        ) from None
    return versions


def _check(node: Mapping[str, Any], versions: Mapping[str, str], probes: Sequence[Path]) -> None:
    for what, here in _versions().items():
        if versions[what] != here:
            raise BadInput(
                f"the node {_name(node)} has {what} {versions[what]} and this machine {here}; "
                "install the same everywhere"
            )
    for probe in probes:
        answered = _answered(probe, node["NodeID"])
        if not answered.is_file() or answered.read_bytes() != probe.read_bytes():
            raise BadInput(
                f"the node {_name(node)} does not see the folder {probe.parent} as this machine does; "
                "choose one on storage that all nodes share"
            )


def _versions() -> dict[str, str]:
    return {what: version(what) for what in ALIKE}


def _answered(probe: Path, node: str) -> Path:
    return probe.with_name(f"{probe.name}-{node}")


def _name(node: Mapping[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


OURS = "EVERLEARN_"
"""How the names in the environment begin that a node is told of."""
GONE = "the process or the node that had it is gone"


class Errand:
    """On a node: holds the leash of a child, which saves and ends when this process does.

    Args:
        words: a command of everlearn.
        threads: of arithmetic.
        folder: where it was ordered; it is carried out there, if this node has such a folder.
        environment: what it finds there beside the node's own.
    """

    def __init__(
        self, words: Sequence[str], threads: int, folder: str, environment: Mapping[str, str]
    ) -> None:
        here = Path(folder) if Path(folder).is_dir() else None
        self._child = Child(words, threads=threads, environment=environment, folder=here)

    def begin(self) -> None:
        """Answer as soon as there is somebody to answer."""

    def end(self) -> tuple[int, str]:
        """With what it ended and why, once it has."""
        return self._child.wait(), self._child.reason()

    def let_go(self) -> None:
        """Ask the child to save and end."""
        self._child.let_go()


class Sent:
    """With us: an errand that is on some node, or waits for one.

    Args:
        ray: Ray, connected.
        words: a command of everlearn.
        capacity: what it takes.
    """

    def __init__(self, ray: ModuleType, words: Sequence[str], capacity: Capacity) -> None:
        self._ray = ray
        ours = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
        # Two threads: one waits for the child, the other hears that it is to be let go.
        errand = ray.remote(Errand).options(
            **needs(capacity), max_concurrency=2, scheduling_strategy="SPREAD"
        )
        self._errand = errand.remote(tuple(words), capacity.threads, str(Path.cwd()), ours)
        self._begun, self._ended = self._errand.begin.remote(), self._errand.end.remote()

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not self._is_ready(self._ended)

    @property
    def code(self) -> int | None:
        """With what it ended, 0 if all is well; None of one that is lost with whatever had it."""
        return self._end()[0]

    def let_go(self) -> None:
        """Ask it to save and end; one that has not begun has nothing to save."""
        if self._is_ready(self._begun):
            self._errand.let_go.remote()
        else:
            self.close()

    def close(self) -> None:
        """End it at once, unless it has ended."""
        self._ray.kill(self._errand)

    def reason(self) -> str:
        """Why it ended, in a sentence."""
        return self._end()[1]

    def _end(self) -> tuple[int | None, str]:
        try:
            code, reason = self._ray.get(self._ended)
        except self._ray.exceptions.RayError:
            return None, GONE
        return code, reason

    def _is_ready(self, answer: Any) -> bool:
        ready, _ = self._ray.wait([answer], timeout=0)
        return bool(ready)


def needs(capacity: Capacity) -> dict[str, float]:
    """What Ray has to set aside for one errand."""
    return {"num_cpus": capacity.threads, "num_gpus": capacity.gpus, "memory": capacity.memory}


FRESH = 5.0
"""Seconds for which it is believed that the nodes are those that were seen last."""


def on_ray(address: str | None = None) -> Where:
    """A workshop on a Ray cluster, for `play_all`.

    Args:
        address: host:port of its head; the cluster to which this machine belongs if not said.
    """
    check_address(address)

    @contextmanager
    def where(capacity: Capacity, folders: Sequence[Path]) -> Iterator[Workshop]:
        with connected(address) as ray:
            cluster = RayCluster(ray, capacity)
            check_shared(ray, cluster.useful_nodes(), folders)
            yield cluster

    return where


class RayCluster:
    """The nodes of a cluster as far as they have room for what is to be done.

    Args:
        ray: Ray, connected.
        capacity: how many commands at a time, and what each takes.
    """

    def __init__(self, ray: ModuleType, capacity: Capacity) -> None:
        self._ray, self._capacity = ray, capacity
        self._sent: list[Sent] = []
        self._places, self._seen = self._count(), time.monotonic()
        if not self._places:
            raise BadInput(self._too_small())

    @property
    def workers(self) -> int:
        """How many commands the nodes have room for at a time."""
        if time.monotonic() - self._seen > FRESH:
            self._places, self._seen = self._count(), time.monotonic()
        wanted = self._capacity.workers
        return self._places if wanted is None else min(self._places, wanted)

    def has_room(self) -> bool:
        """Whether one more may be started now."""
        self._sent = [each for each in self._sent if each.is_alive]
        return len(self._sent) < self.workers

    def start(self, words: Sequence[str]) -> Sent:
        """Send a command to whichever node has room for it."""
        sent = Sent(self._ray, words, self._capacity)
        self._sent.append(sent)
        return sent

    def useful_nodes(self) -> list[Mapping[str, Any]]:
        """The nodes that have room for at least one command."""
        return [node for node in self._ray.nodes() if node["Alive"] and places(node, self._capacity)]

    def _count(self) -> int:
        return sum(places(node, self._capacity) for node in self.useful_nodes())

    def _too_small(self) -> str:
        each = self._capacity
        return (
            f"no node of the cluster has {each.threads} CPUs, {each.gpus:g} GPUs and "
            f"{each.memory / 1e9:g} GB of memory for a run; ask for less, or add larger nodes"
        )


def places(node: Mapping[str, Any], capacity: Capacity) -> int:
    """How many commands a node has room for.

    Example:
        >>> node = {"Resources": {"CPU": 8.0, "GPU": 2.0, "memory": 16e9}}
        >>> places(node, Capacity(threads=2, memory=4_000_000_000, gpus=0.25))
        4
        >>> places(node, Capacity(threads=1, memory=4_000_000_000, gpus=1))
        2
    """
    there = node.get("Resources", {})
    wanted = {"CPU": capacity.threads, "GPU": capacity.gpus, "memory": capacity.memory}
    return min(int(there.get(name, 0) / each + 1e-9) for name, each in wanted.items() if each)
