"""Properties of every stream."""

import os

import numpy as np
import pytest

from everlearn import streams
from everlearn.streams import SPLITS, Batch
from everlearn.streams.scenario_stream import balanced_sample

SMALL = {"image_size": 16, "factor_values": 3, "classes_per_task": 3}
ENVIRONMENTS = ("sprites", "moving-sprites", "inverted-sprites", "coloured-sprites", "sprites")
SESSIONS = {
    "stream": "sprites-50", "image_size": 16, "frames_per_session": 4, "n_classes": 12, "classes_per_task": 2,
}  # fmt: skip

CASES = {
    "class-incremental": SMALL,
    "domain-incremental": {**SMALL, "scenario": "domain-incremental"},
    "task-incremental": {**SMALL, "scenario": "task-incremental"},
    "nc": {**SMALL, "scenario": "nc"},
    "ni": {**SMALL, "scenario": "ni", "n_sessions": 6},
    "nic": {**SMALL, "scenario": "nic", "n_classes": 6, "n_sessions": 3},
    "blurry": {**SMALL, "boundaries": "blurry", "blurry_percent": 30},
    "gradual": {**SMALL, "boundaries": "gradual"},
    "recurring": {**SMALL, "boundaries": "recurring"},
    "recurring tasks": {**SMALL, "boundaries": "recurring", "scenario": "task-incremental"},
    "held-out count": {**SMALL, "held_out": 5},
    "held-out box": {**SMALL, "scale": {"low": 0.5, "high": 1}, "held_out": {"scale": [0.5, 0.6]}},
    "continuous": {**SMALL, "angle": {"low": 0, "high": 6}, "images_per_class": 60},
    "colour": {**SMALL, "rgb": True, "colour": 3, "scale": 1},
    "nuisances": {**SMALL, "noise": 0.1, "clutter": 2, "occluder": 0.1},
    "alike": {**SMALL, "similarity": 0.8, "difficulty": 0.5},
    "sessions nc": {**SESSIONS, "scenario": "nc", "first_classes": 3},
    "sessions nic": {**SESSIONS, "scenario": "nic", "first_classes": 3},
    "sessions ni": {**SESSIONS, "scenario": "ni"},
    "environments": {
        "stream": "environments",
        "sequence": ENVIRONMENTS,
        "image_size": 16,
        "n_shapes": 4,
        "images_per_shape": 30,
        "images_per_stage": 60,
        "mix": 0.1,
    },
}
REAL = {
    "omniglot": {"stream": "omniglot", "image_size": 16, "classes_per_task": 3},
    "omniglot in poses": {"stream": "omniglot", "image_size": 16, "classes_per_task": 3, "n_poses": 30},
    "omniglot blurry": {"stream": "omniglot", "image_size": 16, "boundaries": "blurry", "variant": "moving"},
}
needs_data = pytest.mark.skipif(not os.environ.get("EVERLEARN_DATA"), reason="EVERLEARN_DATA is not set")
N_TASKS = 5


@pytest.fixture(params=[*CASES, *(pytest.param(name, marks=needs_data) for name in REAL)])
def settings(request):
    return {"stream": "sprites", **{**CASES, **REAL}[request.param]}


@pytest.fixture
def stream(settings):
    return streams.build(settings)


def batches(task):
    return [*(task.split(name) for name in SPLITS), task.exemplars]


def images(batch):
    """The identity of each image: its pixels and factors."""
    rows = zip(batch.images, batch.factors.array(), batch.factors.colour, strict=True)
    return [(image.tobytes(), factors.tobytes(), colour.tobytes()) for image, factors, colour in rows]


def test_tasks_do_not_depend_on_the_order_of_access(settings):
    forwards = [batches(task) for task in streams.build(settings).take(N_TASKS)]
    stream = streams.build(settings)
    backwards = [batches(stream.task(k)) for k in reversed(range(N_TASKS))]
    assert forwards == backwards[::-1]


def test_iterators_are_equal_and_independent(stream):
    first, second = iter(stream), iter(stream)
    a0, a1, b0, b1 = next(first), next(first), next(second), next(second)
    assert batches(a0) == batches(b0)
    assert batches(a1) == batches(b1)


def test_splits_are_disjoint(stream):
    for task in stream.take(N_TASKS):
        parts = [set(images(task.split(name))) for name in SPLITS]
        assert sum(map(len, parts)) == len(set.union(*parts))


def test_no_test_image_is_a_training_image(stream):
    tasks = list(stream.take(N_TASKS))
    trained = {image for task in tasks for image in images(task.train)}
    others = {image for task in tasks for name in SPLITS[1:] for image in images(task.split(name))}
    assert not trained & others


def test_held_out_poses_are_in_no_other_split(settings, stream):
    poses = [set(map(bytes, task.held_out.factors.array())) for task in stream.take(N_TASKS)]
    held_out = set.union(*poses)
    assert bool(held_out) == bool(settings.get("held_out"))
    shown = [task.split(name).factors.array() for task in stream.take(N_TASKS) for name in SPLITS[:-1]]
    assert not held_out & set(map(bytes, np.concatenate(shown)))


def test_task_labels_are_those_of_its_images(stream):
    for task in stream.take(N_TASKS):
        assert task.labels == tuple(np.unique(task.train.labels).tolist())
        assert set(task.test.labels.tolist()) == set(task.val.labels.tolist()) <= set(task.labels)
        assert task.exemplars.labels.tolist() == list(task.labels)


def test_labels_recur(settings, stream):
    labels = [label for task in stream.take(N_TASKS) for label in task.labels]
    if not stream.labels_recur:
        assert len(set(labels)) == len(labels)
    elif settings.get("boundaries") != "blurry":  # where few samples may be exchanged
        assert len(set(labels)) < len(labels)


def test_every_split_has_images(stream):
    for task in stream.take(N_TASKS):
        assert min(len(task.train), len(task.val), len(task.test)) > 0
        assert all(batch.images.dtype == np.uint8 for batch in batches(task))
        assert all(batch.labels.dtype == np.int64 for batch in batches(task))


def test_exemplars_differ(stream):
    for task in stream.take(N_TASKS):
        exemplars = [image.tobytes() for image in task.exemplars.images]
        assert len(set(exemplars)) == len(task.labels)


def test_spec_builds_an_equal_stream(stream):
    for spec in (streams.from_json(stream.spec.to_json()), streams.from_toml(stream.spec.to_toml())):
        again = spec.build()
        assert (again.id, again.n_tasks, again.spec) == (stream.id, stream.n_tasks, stream.spec)
        assert again.fingerprint() == stream.fingerprint()


def test_seed_changes_the_stream(settings, stream):
    assert streams.build({**settings, "seed": 1}).fingerprint() != stream.fingerprint()


def test_largest_eval_sample_has_all_test_images(stream):
    tested = {image for task in stream.take(N_TASKS) for image in images(task.test)}
    sample = stream.eval_sample(N_TASKS, size=100_000)
    assert sorted(images(sample)) == sorted(tested)


def test_eval_sample_is_limited_balanced_and_pure(stream):
    size = len(stream.eval_sample(N_TASKS, size=100_000)) - 1
    sample = stream.eval_sample(N_TASKS, size=size, seed=3)
    assert len(sample) == size
    assert sample == stream.eval_sample(N_TASKS, size=size, seed=3)
    assert len({str(images(stream.eval_sample(N_TASKS, size=size, seed=seed))) for seed in range(10)}) > 1
    samples = balanced_sample(stream.source, stream.scenario.seen_classes(N_TASKS), size=size, seed=3)
    counts = np.bincount(np.unique(samples.class_ids, return_inverse=True)[1])
    assert counts.max() - counts.min() <= 1


def test_task_ids_are_provided_in_task_incremental_streams_only(settings, stream):
    expected = settings.get("scenario") == "task-incremental"
    for task in stream.take(N_TASKS):
        assert all((batch.tasks is not None) == expected for batch in batches(task))
    assert stream.provides_task_ids == expected


def test_eval_sample_has_the_first_task_of_each_image(stream):
    tested = {}
    for task in stream.take(N_TASKS):
        for image in images(task.test):
            tested.setdefault(image, task.index)
    sample = stream.eval_sample(N_TASKS)
    assert sample.tasks.tolist() == [tested[image] for image in images(sample)]


def test_image_shape(stream):
    for task in stream.take(2):
        assert all(batch.images.shape[1:] == stream.image_shape for batch in batches(task))


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
    settings = {"stream": "sprites", **SMALL, "boundaries": boundaries}
    early, late = (count_calls(settings, lambda s, k=k: batches(s.task(k))) for k in (3, 3_000_000))
    assert early == late


def test_cost_of_a_blurry_block_does_not_depend_on_its_index():
    settings = {"stream": "sprites", **SMALL, "boundaries": "blurry"}

    def count(first):
        return count_calls(settings, lambda s: [batches(s.task(k)) for k in range(first, first + 5)])

    early, late = count(0), count(5_000_000)
    assert early["images"] == late["images"]
    assert early["pools"] == late["pools"]


def test_labels_load_no_images(settings):
    calls = count_calls(settings, lambda s: [task.labels for task in s.take(N_TASKS)])
    assert calls["images"] == 0


def test_view_has_no_test_images(stream):
    view = stream.task(0).for_learner()
    assert isinstance(view.train, Batch)
    assert not hasattr(view, "test")
    assert not hasattr(view, "held_out")
