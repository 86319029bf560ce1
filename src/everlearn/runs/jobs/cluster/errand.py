"""A command on its way: what Ray carries to a node, and what stays in our hands."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from everlearn.runs.jobs.capacity import Capacity
from everlearn.runs.jobs.child import Child

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
