"""Each check of streams detects a stream that breaks its promise."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.streams import Batch, Stream, Task, sprites
from everlearn.testing import BrokenContract, check_stream


class Changed(Stream):
    """A small stream of sprites whose tasks are changed by a function."""

    def __init__(self, change: Callable[[Task], Task] = lambda task: task, **attributes: Any) -> None:
        self._inner, self._change = (
            sprites(image_size=16, factor_values=2, n_tasks=2, classes_per_task=3),
            change,
        )
        self.id, self.n_tasks, self.spec = self._inner.id, 2, self._inner.spec
        self.image_shape, self.labels_recur = (16, 16), False
        for name, value in attributes.items():
            setattr(self, name, value)

    def load_task(self, k: int) -> Task:
        return self._change(self._inner.task(k))


def with_splits(**splits: Callable[[Task], Batch]) -> Callable[[Task], Task]:
    def change(task: Task) -> Task:
        def load(name: str) -> Batch:
            return splits[name](task) if name in splits else task.split(name)  # type: ignore[arg-type]

        return Task(task.index, task.labels, load, lambda: task.exemplars)

    return change


def floats(task: Task) -> Batch:
    return Batch((task.train.images / 255.0), task.train.labels)  # type: ignore[arg-type]


def random_images(task: Task) -> Batch:
    shape = (len(task.train), 16, 16)
    return Batch(np.random.default_rng().integers(0, 256, shape, np.uint8), task.train.labels)


def other_labels(task: Task) -> Batch:
    return Batch(task.test.images, task.test.labels + 1000)


def test_missing_number_of_tasks_is_reported() -> None:
    stream = Changed()
    del stream.n_tasks
    with pytest.raises(BrokenContract, match="has no attribute n_tasks; set it in the constructor"):
        check_stream(stream)


def test_evaluation_sample_of_no_tasks_is_refused() -> None:
    with pytest.raises(BadInput, match="n_tasks is 0; it must be between 1 and"):
        Changed().eval_sample(0)


def test_a_function_is_not_a_stream() -> None:
    with pytest.raises(BadInput, match="is not a stream; give a Stream"):
        check_stream(sprites)


def test_stream_with_default_evaluation_sample_keeps_the_contract() -> None:
    assert len(check_stream(Changed())) == 7


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (Changed(with_splits(train=random_images)), "gives other images when a task is loaded again"),
        (Changed(with_splits(test=lambda task: task.train)), "an image of task 0 of .* is in two splits"),
        (Changed(with_splits(train=floats)), "images of .* are float64; give uint8"),
        (Changed(with_splits(test=other_labels)), "tests the label 1000, which it does not train"),
        (Changed(with_splits(test=lambda task: task.test[:0])), "has no training or no test images"),
        (Changed(image_shape=(8, 8)), r"images of .* are \(16, 16\), but image_shape is \(8, 8\)"),
        (Changed(spec=None), "spec is NoneType; set StreamSettings"),
        (Changed(with_splits(), eval_sample=lambda *_, **__: sprites().task(9).test[:9]), "has no task ids"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_broken_promise_is_named(stream: Stream, message: str) -> None:
    with pytest.raises(BrokenContract, match=message):
        check_stream(stream)
