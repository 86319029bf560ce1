"""An executor on the nodes of a Ray cluster."""

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
from everlearn.runs.child_process import ChildProcess
from everlearn.runs.sweep.executors import Capacity, Executor, ExecutorFactory, ProcessHandle

ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9_.\-]+):(?P<port>[0-9]{1,5})")
LOCALHOST = ("localhost", "127.0.0.1")
MAX_PORT = 65535
CONNECT_TIMEOUT = 5.0
"""Seconds in which the head of a cluster must answer."""
RETRIES = ("RAY_NUM_REDIS_GET_RETRIES", "3")
"""Limits the retries of a connection to a head; Ray reads it when it is imported."""
STDERR = 2
CHECK_TIMEOUT = 60.0
"""Seconds in which every node must have answered."""
PACKAGES = ("everlearn", "torch", "numpy")
"""Packages whose versions must be equal on all nodes, because results depend on them."""
VARIABLE_PREFIX = "EVERLEARN_"
"""Prefix of the environment variables that are passed to nodes."""
LOST = "its process or its node was lost"
NODES_VALID = 5.0
"""Seconds for which the list of nodes is reused."""


def on_ray(address: str | None = None) -> ExecutorFactory:
    """An executor on the Ray cluster at host:port; default: the cluster of this machine."""
    check_address(address)

    @contextmanager
    def executor(capacity: Capacity, folders: Sequence[Path]) -> Iterator[Executor]:
        with connected(address) as ray:
            cluster = RayExecutor(ray, capacity)
            _check_nodes(ray, cluster.usable_nodes(), folders)
            yield cluster

    return executor


class RayExecutor(Executor):
    """Runs commands on the nodes of a cluster."""

    def __init__(self, ray: ModuleType, capacity: Capacity) -> None:
        self._ray, self._capacity = ray, capacity
        self._handles: list[RemoteHandle] = []
        self._slots, self._counted = self._count_slots(), time.monotonic()
        if not self._slots:
            raise BadInput(
                f"no node of the cluster has {capacity.threads} CPUs, {capacity.gpus:g} GPUs and "
                f"{capacity.memory / 1e9:g} GB of memory for a run; reduce the resources, or add larger nodes"
            )

    @property
    def workers(self) -> int:
        if time.monotonic() - self._counted > NODES_VALID:
            self._slots, self._counted = self._count_slots(), time.monotonic()
        wanted = self._capacity.workers
        return self._slots if wanted is None else min(self._slots, wanted)

    def has_capacity(self) -> bool:
        self._handles = [each for each in self._handles if each.is_alive]
        return len(self._handles) < self.workers

    def start(self, command: Sequence[str]) -> "RemoteHandle":
        handle = RemoteHandle(self._ray, command, self._capacity)
        self._handles.append(handle)
        return handle

    def usable_nodes(self) -> list[Mapping[str, Any]]:
        """The nodes that can run at least one command."""
        return [node for node in self._ray.nodes() if node["Alive"] and n_slots(node, self._capacity)]

    def _count_slots(self) -> int:
        return sum(n_slots(node, self._capacity) for node in self.usable_nodes())


def n_slots(node: Mapping[str, Any], capacity: Capacity) -> int:
    """How many commands fit on a node.

    Example:
        >>> node = {"Resources": {"CPU": 8.0, "GPU": 2.0, "memory": 16e9}}
        >>> n_slots(node, Capacity(threads=2, memory=4_000_000_000, gpus=0.25))
        4
        >>> n_slots(node, Capacity(threads=1, memory=4_000_000_000, gpus=1))
        2
    """
    available = node.get("Resources", {})
    wanted = {"CPU": capacity.threads, "GPU": capacity.gpus, "memory": capacity.memory}
    return min(int(available.get(name, 0) / each + 1e-9) for name, each in wanted.items() if each)


class RemoteProcess:
    """Ray actor on a node: holds a child process, which saves and ends when the actor does."""

    def __init__(
        self, command: Sequence[str], threads: int, folder: str, environment: Mapping[str, str]
    ) -> None:
        self._child = ChildProcess(command, threads=threads, environment=environment, folder=Path(folder))

    def started(self) -> None:
        """Return once the actor exists."""

    def wait(self) -> tuple[int | None, str]:
        """Wait until the child ends; its exit code and error."""
        return self._child.wait(), self._child.error()

    def terminate(self) -> None:
        """Request that the child saves and ends."""
        self._child.terminate()


class RemoteHandle(ProcessHandle):
    """Handle of a `RemoteProcess` that runs, or waits for a node."""

    def __init__(self, ray: ModuleType, command: Sequence[str], capacity: Capacity) -> None:
        self._ray = ray
        variables = {name: os.environ[name] for name in os.environ if name.startswith(VARIABLE_PREFIX)}
        # Two threads: one waits for the child, the other can terminate it.
        actor = ray.remote(RemoteProcess).options(
            num_cpus=capacity.threads,
            num_gpus=capacity.gpus,
            memory=capacity.memory,
            max_concurrency=2,
            scheduling_strategy="SPREAD",
        )
        self._actor = actor.remote(tuple(command), capacity.threads, str(Path.cwd()), variables)
        self._started, self._ended = self._actor.started.remote(), self._actor.wait.remote()

    @property
    def is_alive(self) -> bool:
        return not self._is_ready(self._ended)

    @property
    def exit_code(self) -> int | None:
        return self._result()[0]

    def terminate(self) -> None:
        if self._is_ready(self._started):
            self._actor.terminate.remote()
        else:
            self.close()

    def close(self) -> None:
        self._ray.kill(self._actor)

    def error(self) -> str:
        return self._result()[1]

    def _result(self) -> tuple[int | None, str]:
        try:
            code, error = self._ray.get(self._ended)
        except self._ray.exceptions.RayError:
            return None, LOST
        return code, error

    def _is_ready(self, reference: Any) -> bool:
        ready, _ = self._ray.wait([reference], timeout=0)
        return bool(ready)


@contextmanager
def connected(address: str | None) -> Iterator[ModuleType]:
    """The module `ray`, connected to a cluster; processes started there end with the context."""
    given = check_address(address or os.environ.get("RAY_ADDRESS"))
    os.environ.setdefault(*RETRIES)
    ray = import_optional("ray", "pip install 'everlearn[ray]'")
    if given is not None:
        _check_answers(ray, given)
    try:
        with _silent_stderr():
            ray.init(given or "auto", log_to_driver=False, configure_logging=False)
    except Exception as error:  # Ray raises many kinds of errors for an unusable cluster
        raise _connection_error(given, error) from error
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Discard what Ray's C++ code prints about a connection; errors are also raised."""
    kept, null = os.dup(STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, STDERR)
    try:
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        os.close(null)


def check_address(address: str | None) -> str | None:
    """A valid address; None for the default.

    Example:
        >>> check_address("10.0.0.1:6379")
        '10.0.0.1:6379'
        >>> check_address("10.0.0.1")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: '10.0.0.1' is not an address of a Ray cluster; write host:port, ...
    """
    if address in (None, "", "auto"):
        return None
    found = ADDRESS.fullmatch(address or "")
    if found is None or not 0 < int(found["port"]) <= MAX_PORT:
        raise BadInput(
            f"{address!r} is not an address of a Ray cluster; "
            "write host:port, as `ray start --head` prints it"
        )
    return address


def _check_answers(ray: ModuleType, address: str) -> None:
    """Raise an error if nothing answers; Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host in LOCALHOST:
        host = ray.util.get_node_ip_address()  # as Ray does
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        reason = "timeout" if isinstance(error, TimeoutError) else str(error.strerror or error).lower()
        raise BadInput(
            f"no Ray cluster answers at {host}:{port} ({reason}); "
            "check the address, or start one with `ray start --head`"
        ) from None


def _connection_error(address: str | None, error: Exception) -> BadInput:
    if address is None and isinstance(error, ConnectionError):
        return BadInput(
            "no Ray cluster found on this machine; start one with `ray start --head`, "
            "or give its address with --address host:port"
        )
    message = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return BadInput(
        f"cannot join the Ray cluster at {address or 'this machine'} ({message:.200}); "
        "use one of its nodes, and its token if it has one"
    )


def _check_nodes(ray: ModuleType, nodes: Iterable[Mapping[str, Any]], folders: Sequence[Path]) -> None:
    """Raise an error unless every node has equal versions and shares the folders with this machine."""
    token = secrets.token_hex(8)
    probes = [folder / f".probe-{token}" for folder in folders]
    try:
        for probe in probes:
            files.write(probe, token.encode())
        requests = [(node, _request_copies(ray, node, probes)) for node in nodes]
        for node, reference in requests:
            _check_node(node, _node_versions(ray, node, reference), probes)
    finally:
        for path in (path for probe in probes for path in probe.parent.glob(f"{probe.name}*")):
            path.unlink(missing_ok=True)


def copy_probes(probes: Sequence[str], node: str) -> dict[str, str]:
    """On a node: copy each probe file that exists there, and return the versions of packages."""
    for probe in filter(Path.is_file, map(Path, probes)):
        _copy_path(probe, node).write_bytes(probe.read_bytes())
    return _versions()


def _request_copies(ray: ModuleType, node: Mapping[str, Any], probes: Sequence[Path]) -> Any:
    affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    on_node = affinity(node_id=node["NodeID"], soft=False)
    remote = ray.remote(copy_probes).options(num_cpus=0, max_retries=0, scheduling_strategy=on_node)
    return remote.remote([str(probe) for probe in probes], node["NodeID"])


def _node_versions(ray: ModuleType, node: Mapping[str, Any], reference: Any) -> Mapping[str, str]:
    try:
        versions: Mapping[str, str] = ray.get(reference, timeout=CHECK_TIMEOUT)
    except ray.exceptions.RayError as error:
        message = str(error).strip().splitlines()[-1]
        raise BadInput(
            f"the node {_name(node)} cannot run everlearn ({message:.200}); "
            "install the same version there, and make the folder writable"
        ) from None
    return versions


def _check_node(node: Mapping[str, Any], versions: Mapping[str, str], probes: Sequence[Path]) -> None:
    for package, here in _versions().items():
        if versions[package] != here:
            raise BadInput(
                f"the node {_name(node)} has {package} {versions[package]}, this machine has {here}; "
                "install the same version everywhere"
            )
    for probe in probes:
        copy = _copy_path(probe, node["NodeID"])
        if not copy.is_file() or copy.read_bytes() != probe.read_bytes():
            raise BadInput(
                f"the node {_name(node)} does not share the folder {probe.parent} with this machine; "
                "choose one on storage that all nodes share"
            )


def _versions() -> dict[str, str]:
    return {package: version(package) for package in PACKAGES}


def _copy_path(probe: Path, node: str) -> Path:
    return probe.with_name(f"{probe.name}-{node}")


def _name(node: Mapping[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
