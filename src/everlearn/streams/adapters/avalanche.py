"""Streams as Avalanche benchmarks."""

from typing import TYPE_CHECKING

from everlearn.streams.adapters.pytorch import Transform
from everlearn.streams.exports.choose import chosen_tasks
from everlearn.streams.exports.extras import need
from everlearn.streams.stream import Stream

if TYPE_CHECKING:
    from avalanche.benchmarks import CLScenario


def to_avalanche(
    stream: Stream, n_tasks: int | None = None, *, transform: Transform | None = None
) -> "CLScenario":
    """The first tasks of a stream as an Avalanche benchmark, one experience each.

    An experience is made each time it is asked for and not kept, so a benchmark of 500 tasks takes the memory
    of one. The benchmark has a train, valid, test and held_out stream, and `n_classes`. Task labels are those
    of the stream if it gives them away (task-incremental), otherwise 0.

    Args:
        stream: any stream.
        n_tasks: how many tasks; all, if the stream has an end.
        transform: applied to each image, a float tensor (channels, height, width) in 0..1.
    """
    need("torch", "pip install torch")
    need("avalanche", "pip install 'everlearn[avalanche]'")
    from everlearn.streams.adapters.avalanche_streams import benchmark

    numbers = chosen_tasks(stream, None if n_tasks is None else [task.index for task in stream.take(n_tasks)])
    return benchmark(stream, numbers, transform)
