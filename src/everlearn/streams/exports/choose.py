"""Which tasks of a stream are meant."""

from collections.abc import Iterable
from operator import index

from everlearn.errors import BadInput
from everlearn.streams.stream import Stream


def chosen_tasks(stream: Stream, tasks: Iterable[int] | None) -> tuple[int, ...]:
    """The numbers of the tasks that are meant, sorted, each known to exist; all if not said."""
    if tasks is None:
        if stream.n_tasks is None:
            raise BadInput(f"{stream.id} is endless; say which tasks are meant, such as tasks=range(10)")
        tasks = (task.index for task in stream)
    numbers = tuple(sorted({index(k) for k in tasks}))
    if not numbers:
        raise BadInput("no tasks are meant; give at least one, such as tasks=range(10)")
    for k in numbers:
        stream.task(k)
    return numbers


def count_labels(stream: Stream, tasks: Iterable[int]) -> int:
    """One more than the largest label in some tasks: the outputs that a classifier needs."""
    return 1 + max((label for k in tasks for label in stream.task(k).labels), default=-1)
