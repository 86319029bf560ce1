"""Properties of every stream."""

import os
from typing import Any, NamedTuple

import numpy as np
import pytest

from everlearn import streams
from everlearn.streams import SPLITS, Batch, Stream, Task
from everlearn.streams.scenario_stream import balanced_sample
from tests.golden.adapter import REAL_STREAMS, SMALL, STREAMS, with_files
from tests.golden.datasets import WRITERS

# Streams that need no files, those of small files, and those of Omniglot.
CASES = {name: settings for name, settings in STREAMS.items() if "data" not in settings}
FROM_FILES = {name: settings for name, settings in STREAMS.items() if settings["stream"] in WRITERS}
REAL = {name: settings for name, settings in REAL_STREAMS.items() if settings["stream"] == "omniglot"}
needs_data = pytest.mark.skipif(not os.environ.get("EVERLEARN_DATA"), reason="EVERLEARN_DATA is not set")
N_TASKS = 5


class Case(NamedTuple):
    """A stream and its first tasks, whose batches are generated once for all tests."""

    settings: dict[str, Any]
    stream: Stream
    tasks: list[Task]


@pytest.fixture(
    scope="module", params=[*CASES, *FROM_FILES, *(pytest.param(name, marks=needs_data) for name in REAL)]
)
def case(request, tmp_path_factory):
    settings = {**CASES, **FROM_FILES, **REAL}[request.param]
    settings = with_files(settings, tmp_path_factory.mktemp("data"))
    stream = streams.build(settings)
    return Case(settings, stream, list(stream.take(N_TASKS)))


def batches(task):
    return [*(task.split(name) for name in SPLITS), task.exemplars]


def images(batch):
    """The identity of each image: its pixels and factors."""
    rows = zip(batch.images, batch.factors.array(), batch.factors.colour, strict=True)
    return [(image.tobytes(), factors.tobytes(), colour.tobytes()) for image, factors, colour in rows]


def test_tasks_depend_on_the_settings_only(case):
    spec = case.stream.spec
    assert streams.from_json(spec.to_json()) == streams.from_toml(spec.to_toml()) == spec
    again = streams.from_json(spec.to_json()).build()
    assert (again.id, again.n_tasks) == (case.stream.id, case.stream.n_tasks)
    first, second = iter(again), iter(again)
    assert [next(first).index, next(first).index, next(second).index] == [0, 1, 0]
    backwards = [batches(again.task(k)) for k in reversed(range(N_TASKS))]
    assert [batches(task) for task in case.tasks] == backwards[::-1]
    other = streams.build({**case.settings, "seed": 1})
    assert any(batches(other.task(k)) != batches(case.tasks[k]) for k in range(2))


def test_splits_are_disjoint(case):
    parts = {name: [set(images(task.split(name))) for task in case.tasks] for name in SPLITS}
    for of_task in zip(*parts.values(), strict=True):
        assert sum(map(len, of_task)) == len(set.union(*of_task))
    assert not set.union(*parts["train"]) & set.union(*(part for name in SPLITS[1:] for part in parts[name]))
    held_out = {factors for part in parts["held_out"] for _, factors, _ in part}
    assert bool(held_out) == bool(case.settings.get("held_out"))
    assert not held_out & {factors for name in SPLITS[:-1] for part in parts[name] for _, factors, _ in part}


def test_labels_and_images_of_a_task(case):
    has_ids = case.settings.get("scenario") == "task-incremental"
    assert case.stream.provides_task_ids == has_ids
    for task in case.tasks:
        assert min(len(task.train), len(task.val), len(task.test)) > 0
        assert task.labels == tuple(np.unique(task.train.labels).tolist())
        assert set(task.test.labels.tolist()) == set(task.val.labels.tolist()) <= set(task.labels)
        assert task.exemplars.labels.tolist() == list(task.labels)
        assert len({image.tobytes() for image in task.exemplars.images}) == len(task.labels)
        for batch in batches(task):
            assert batch.images.shape[1:] == case.stream.image_shape
            assert (batch.images.dtype, batch.labels.dtype) == (np.uint8, np.int64)
            assert (batch.tasks is not None) == has_ids


def test_labels_recur(case):
    labels = [label for task in case.tasks for label in task.labels]
    if not case.stream.labels_recur:
        assert len(set(labels)) == len(labels)
    elif case.settings.get("boundaries") != "blurry":  # where few samples may be exchanged
        assert len(set(labels)) < len(labels)


def test_eval_sample(case):
    stream, first_task = case.stream, {}
    for task in case.tasks:
        for image in images(task.test):
            first_task.setdefault(image, task.index)
    largest = stream.eval_sample(N_TASKS, size=100_000)
    assert sorted(images(largest)) == sorted(first_task)
    assert largest.tasks.tolist() == [first_task[image] for image in images(largest)]
    size, seen = len(largest) - 1, stream.scenario.seen_classes(N_TASKS)
    sample = stream.eval_sample(N_TASKS, size=size, seed=3)
    assert len(sample) == size
    assert sample == stream.eval_sample(N_TASKS, size=size, seed=3)
    samples = [balanced_sample(stream.source, seen, size=size, seed=seed) for seed in range(10)]
    assert len({(s.class_ids.tobytes(), s.image_ids.tobytes()) for s in samples}) > 1
    counts = np.bincount(np.unique(samples[3].class_ids, return_inverse=True)[1])
    assert counts.max() - counts.min() <= 1


class CountingSource:
    """Counts the calls of a source."""

    def __init__(self, source):
        self._source = source
        self.calls = {"pools": 0, "images": 0}

    def __getattr__(self, name):
        return getattr(self._source, name)

    def pool(self, class_id, split):
        self.calls["pools"] += 1
        return self._source.pool(class_id, split)

    def load(self, class_ids, image_ids):
        self.calls["images"] += len(class_ids)
        return self._source.load(class_ids, image_ids)


def count_calls(settings, function):
    """The calls of the source during a function of the stream."""
    stream = streams.build(settings)
    counting = CountingSource(stream.source)
    stream.source = stream.scenario.source = counting
    function(stream)
    return counting.calls


@pytest.mark.parametrize("boundaries", ["sharp", "gradual", "recurring"])
def test_cost_of_a_task_does_not_depend_on_its_index(boundaries):
    settings = {**SMALL, "boundaries": boundaries}
    early, late = (count_calls(settings, lambda s, k=k: batches(s.task(k))) for k in (3, 3_000_000))
    assert early == late


def test_cost_of_a_blurry_block_does_not_depend_on_its_index():
    settings = {**SMALL, "boundaries": "blurry"}

    def count(first):
        return count_calls(settings, lambda s: [batches(s.task(k)) for k in range(first, first + 5)])

    assert count(0) == count(5_000_000)


def test_labels_load_no_images(case):
    calls = count_calls(case.settings, lambda s: [task.labels for task in s.take(N_TASKS)])
    assert calls["images"] == 0


def test_view_has_no_test_images():
    view = streams.build(SMALL).task(0).for_learner()
    assert isinstance(view.train, Batch)
    assert not hasattr(view, "test")
    assert not hasattr(view, "held_out")
