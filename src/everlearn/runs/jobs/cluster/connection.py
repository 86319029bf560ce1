"""Finding a Ray cluster, or saying in a sentence why there is none."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from everlearn.errors import BadInput
from everlearn.streams.exports.extras import need

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
    return need("ray", "pip install 'everlearn[ray]'")


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
