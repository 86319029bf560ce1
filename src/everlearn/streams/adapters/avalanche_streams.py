"""The parts of an Avalanche benchmark; imported only where Avalanche is."""

from collections.abc import Sequence

from avalanche.benchmarks import CLScenario
from avalanche.benchmarks.scenarios.dataset_scenario import DatasetExperience
from avalanche.benchmarks.scenarios.generic_scenario import SequenceCLStream
from avalanche.benchmarks.utils import DataAttribute, TaskAwareSupervisedClassificationDataset

from everlearn.streams.adapters.pytorch import Transform
from everlearn.streams.adapters.pytorch_datasets import ImageDataset
from everlearn.streams.exports.choose import count_labels
from everlearn.streams.stream import Stream
from everlearn.streams.task import Split, Task

STREAMS: dict[str, Split] = {"train": "train", "valid": "val", "test": "test", "held_out": "held_out"}


def benchmark(stream: Stream, numbers: Sequence[int], transform: Transform | None) -> CLScenario:
    """The benchmark of these tasks."""
    streams = [TaskStream(name, stream, numbers, split, transform) for name, split in STREAMS.items()]
    scenario = CLScenario(streams)
    scenario.n_classes = count_labels(stream, numbers)
    for each in streams:
        each.benchmark = scenario
    return scenario


class TaskStream(SequenceCLStream):  # type: ignore[misc]  # avalanche has no types
    """One split of each task, as experiences that are made when they are asked for."""

    def __init__(
        self, name: str, stream: Stream, numbers: Sequence[int], split: Split, transform: Transform | None
    ) -> None:
        self._stream, self._numbers, self._split, self._transform = stream, numbers, split, transform
        super().__init__(name, benchmark=None)

    def _full_length(self) -> int:
        return len(self._numbers)

    def _make_experience(self, experience_idx: int) -> DatasetExperience:
        task = self._stream.task(self._numbers[experience_idx])
        dataset = _dataset(task, self._split, self._transform)
        experience = DatasetExperience(dataset=dataset)
        experience.task_labels = sorted(dataset.targets_task_labels.uniques)
        if len(experience.task_labels) == 1:
            experience.task_label = experience.task_labels[0]
        past, future = (
            self._labels(part) for part in (slice(experience_idx), slice(experience_idx + 1, None))
        )
        experience.classes_in_this_experience = list(task.labels)
        experience.previous_classes = sorted(past)
        experience.classes_seen_so_far = sorted(past.union(task.labels))
        experience.future_classes = sorted(future.difference(past, task.labels))
        return experience

    def _labels(self, part: slice) -> set[int]:
        return {label for k in self._numbers[part] for label in self._stream.task(k).labels}


def _dataset(
    task: Task, split: Split, transform: Transform | None
) -> TaskAwareSupervisedClassificationDataset:
    batch = task.split(split)
    tasks = [0] * len(batch) if batch.tasks is None else batch.tasks.tolist()
    return TaskAwareSupervisedClassificationDataset(
        [ImageDataset([task], split, ("image", "label"), transform)],
        data_attributes=[
            DataAttribute(batch.labels.tolist(), "targets"),
            DataAttribute(tasks, "targets_task_labels", use_in_getitem=True),
        ],
    )
