"""A workshop on the nodes of a Ray cluster."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from everlearn.errors import BadInput
from everlearn.runs.jobs.capacity import Capacity
from everlearn.runs.jobs.cluster.connection import check_address, connected
from everlearn.runs.jobs.cluster.errand import Sent
from everlearn.runs.jobs.cluster.storage import check_shared
from everlearn.runs.jobs.workshop import Where, Workshop

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
