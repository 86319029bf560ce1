"""Streams as Avalanche benchmarks.

Avalanche is imported inside functions, because it is optional and slow to import.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.errors import import_optional
from everlearn.streams.adapters.torch import ImageDataset, Transform
from everlearn.streams.exports.write import count_labels, resolve_tasks
from everlearn.streams.stream import Split, Stream

if TYPE_CHECKING:
    from avalanche.benchmarks import CLScenario, DatasetExperience
    from avalanche.benchmarks.scenarios.generic_scenario import SequenceCLStream

STREAMS: dict[str, Split] = {"train": "train", "valid": "val", "test": "test", "held_out": "held_out"}


def to_avalanche(
    stream: Stream, n_tasks: int | None = None, *, transform: Transform | None = None
) -> "CLScenario":
    """The first tasks of a stream (default: all) as an Avalanche benchmark, one experience per task.

    Experiences are generated on access and not cached, so that 500 tasks need the memory of one. The
    benchmark has train, valid, test and held_out streams, and `n_classes`. Task labels are those of
    task-incremental streams, otherwise 0. The transform is applied to each image (C, H, W) in [0, 1].
    """
    import_optional("avalanche", "pip install 'everlearn[avalanche]'")
    from avalanche.benchmarks import CLScenario

    first = None if n_tasks is None else [task.index for task in stream.take(n_tasks)]
    numbers = resolve_tasks(stream, first)
    streams = [_lazy_stream(name, stream, numbers, split, transform) for name, split in STREAMS.items()]
    benchmark = CLScenario(streams)
    benchmark.n_classes = count_labels(stream, numbers)
    for each in streams:
        each.benchmark = benchmark
    return benchmark


def _lazy_stream(
    name: str, stream: Stream, numbers: Sequence[int], split: Split, transform: Transform | None
) -> "SequenceCLStream":
    """One split of each task as an experience, generated on access."""
    from avalanche.benchmarks import DatasetExperience
    from avalanche.benchmarks.scenarios.generic_scenario import SequenceCLStream
    from avalanche.benchmarks.utils import DataAttribute, TaskAwareSupervisedClassificationDataset

    def labels(indices: Sequence[int]) -> set[int]:
        return {label for k in indices for label in stream.task(k).labels}

    class LazyStream(SequenceCLStream):  # type: ignore[misc]  # avalanche is not typed
        def _full_length(self) -> int:
            return len(numbers)

        def _make_experience(self, experience_idx: int) -> "DatasetExperience":
            task = stream.task(numbers[experience_idx])
            past, future = labels(numbers[:experience_idx]), labels(numbers[experience_idx + 1 :])
            batch = task.split(split)
            ids = [0] * len(batch) if batch.tasks is None else batch.tasks.tolist()
            dataset = TaskAwareSupervisedClassificationDataset(
                [ImageDataset([task], split, ("image", "label"), transform)],
                data_attributes=[
                    DataAttribute(batch.labels.tolist(), "targets"),
                    DataAttribute(ids, "targets_task_labels", use_in_getitem=True),
                ],
            )
            experience = DatasetExperience(dataset=dataset)
            experience.task_labels = sorted(experience.dataset.targets_task_labels.uniques)
            if len(experience.task_labels) == 1:
                experience.task_label = experience.task_labels[0]
            experience.classes_in_this_experience = list(task.labels)
            experience.previous_classes = sorted(past)
            experience.classes_seen_so_far = sorted(past.union(task.labels))
            experience.future_classes = sorted(future.difference(past, task.labels))
            return experience

    return LazyStream(name, benchmark=None)
