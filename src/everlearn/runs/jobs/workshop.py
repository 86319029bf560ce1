"""Where commands are carried out: the processes of this machine, or those of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from everlearn.runs.jobs.capacity import Capacity
from everlearn.runs.jobs.child import Child


class AtWork(Protocol):
    """A command of everlearn that is carried out somewhere."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""

    @property
    def code(self) -> int | None:
        """With what it ended, 0 if all is well; None of one that is lost with whatever had it."""

    def let_go(self) -> None:
        """Ask it to save and end."""

    def close(self) -> None:
        """End it at once, unless it has ended."""

    def reason(self) -> str:
        """Why it ended, in a sentence."""


class Workshop(Protocol):
    """A place with room for some commands at a time."""

    @property
    def workers(self) -> int:
        """How many it has room for in all."""

    def has_room(self) -> bool:
        """Whether one more may be started now."""

    def start(self, words: Sequence[str]) -> AtWork:
        """Begin a command."""


Where = Callable[[Capacity, Sequence[Path]], AbstractContextManager[Workshop]]
"""Opens a workshop that can do so much at once and is to write into these folders."""


class ThisMachine:
    """Processes side by side on the cores of this machine.

    Args:
        capacity: how many, and what each may take.
    """

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._children: list[Child] = []

    @property
    def workers(self) -> int:
        """How many it has room for in all."""
        return self._capacity.here

    def has_room(self) -> bool:
        """Whether one more may be started now."""
        self._children = [child for child in self._children if child.is_alive]
        return self._capacity.has_room([child.pid for child in self._children])

    def start(self, words: Sequence[str]) -> Child:
        """Begin a command."""
        child = Child(words, threads=self._capacity.threads)
        self._children.append(child)
        return child


@contextmanager
def this_machine(capacity: Capacity, folders: Sequence[Path]) -> Iterator[Workshop]:
    """The processes of this machine, which sees its own folders."""
    yield ThisMachine(capacity)
