"""What every stream promises, whatever it shows and in whatever order."""

import os

import numpy as np
import pytest

from everlearn import streams
from everlearn.streams import SPLITS, Batch
from everlearn.streams.scenario_stream import probe_rows

SMALL = {"image_size": 16, "factor_values": 3, "classes_per_task": 3}
ENVIRONMENTS = ("sprites", "moving-sprites", "inverted-sprites", "coloured-sprites", "sprites")
FILMED = {
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
    "filmed nc": {**FILMED, "scenario": "nc", "first_classes": 3},
    "filmed nic": {**FILMED, "scenario": "nic", "first_classes": 3},
    "filmed ni": {**FILMED, "scenario": "ni"},
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
    """What tells one image of the stream from another: its pixels and its ground truth."""
    rows = zip(batch.images, batch.factors.array(), batch.factors.colour, strict=True)
    return [(image.tobytes(), factors.tobytes(), colour.tobytes()) for image, factors, colour in rows]


def test_tasks_are_pure_in_any_order(settings):
    forwards = [batches(task) for task in streams.build(settings).take(N_TASKS)]
    stream = streams.build(settings)
    backwards = [batches(stream.task(k)) for k in reversed(range(N_TASKS))]
    assert forwards == backwards[::-1]


def test_two_passes_are_equal_and_do_not_disturb_each_other(stream):
    first, second = iter(stream), iter(stream)
    a0, a1, b0, b1 = next(first), next(first), next(second), next(second)
    assert batches(a0) == batches(b0)
    assert batches(a1) == batches(b1)


def test_splits_are_disjoint(stream):
    for task in stream.take(N_TASKS):
        parts = [set(images(task.split(name))) for name in SPLITS]
        assert sum(map(len, parts)) == len(set.union(*parts))


def test_no_test_image_is_ever_trained_on(stream):
    tasks = list(stream.take(N_TASKS))
    trained = {image for task in tasks for image in images(task.train)}
    judged = {image for task in tasks for name in SPLITS[1:] for image in images(task.split(name))}
    assert not trained & judged


def test_held_out_poses_are_shown_nowhere_else(settings, stream):
    poses = [set(map(bytes, task.held_out.factors.array())) for task in stream.take(N_TASKS)]
    held_out = set.union(*poses)
    assert bool(held_out) == bool(settings.get("held_out"))
    shown = [task.split(name).factors.array() for task in stream.take(N_TASKS) for name in SPLITS[:-1]]
    assert not held_out & set(map(bytes, np.concatenate(shown)))


def test_a_task_names_exactly_the_labels_it_holds(stream):
    for task in stream.take(N_TASKS):
        assert task.labels == tuple(np.unique(task.train.labels).tolist())
        assert set(task.test.labels.tolist()) == set(task.val.labels.tolist()) <= set(task.labels)
        assert task.exemplars.labels.tolist() == list(task.labels)


def test_labels_return_only_if_the_stream_says_so(settings, stream):
    labels = [label for task in stream.take(N_TASKS) for label in task.labels]
    if not stream.labels_recur:
        assert len(set(labels)) == len(labels)
    elif settings.get("boundaries") != "blurry":  # where strays may be rare
        assert len(set(labels)) < len(labels)


def test_every_split_has_images(stream):
    for task in stream.take(N_TASKS):
        assert min(len(task.train), len(task.val), len(task.test)) > 0
        assert all(batch.images.dtype == np.uint8 for batch in batches(task))
        assert all(batch.labels.dtype == np.int64 for batch in batches(task))


def test_labels_are_told_apart_by_their_exemplars(stream):
    for task in stream.take(N_TASKS):
        exemplars = [image.tobytes() for image in task.exemplars.images]
        assert len(set(exemplars)) == len(task.labels)


def test_settings_build_the_stream_again(stream):
    for spec in (streams.from_json(stream.spec.to_json()), streams.from_toml(stream.spec.to_toml())):
        again = spec.build()
        assert (again.id, again.n_tasks, again.spec) == (stream.id, stream.n_tasks, stream.spec)
        assert again.fingerprint() == stream.fingerprint()


def test_another_seed_is_another_stream(settings, stream):
    assert streams.build({**settings, "seed": 1}).fingerprint() != stream.fingerprint()


def test_the_whole_probe_is_what_was_tested(stream):
    tested = {image for task in stream.take(N_TASKS) for image in images(task.test)}
    probe = stream.eval_sample(N_TASKS, size=100_000)
    assert sorted(images(probe)) == sorted(tested)


def test_a_probe_is_capped_balanced_and_pure(stream):
    size = len(stream.eval_sample(N_TASKS, size=100_000)) - 1
    probe = stream.eval_sample(N_TASKS, size=size, seed=3)
    assert len(probe) == size
    assert probe == stream.eval_sample(N_TASKS, size=size, seed=3)
    assert len({str(images(stream.eval_sample(N_TASKS, size=size, seed=seed))) for seed in range(10)}) > 1
    rows = probe_rows(stream.source, stream.scenario.seen(N_TASKS), size=size, seed=3)
    counts = np.bincount(np.unique(rows.classes, return_inverse=True)[1])
    assert counts.max() - counts.min() <= 1


def test_tasks_tell_where_they_come_from_only_if_incremental_by_task(settings, stream):
    tells = settings.get("scenario") == "task-incremental"
    for task in stream.take(N_TASKS):
        assert all((batch.tasks is not None) == tells for batch in batches(task))
    assert stream.provides_task_ids == tells


def test_a_probe_tells_where_its_images_were_tested_first(stream):
    tested = {}
    for task in stream.take(N_TASKS):
        for image in images(task.test):
            tested.setdefault(image, task.index)
    probe = stream.eval_sample(N_TASKS)
    assert probe.tasks.tolist() == [tested[image] for image in images(probe)]


def test_every_image_has_the_promised_shape(stream):
    for task in stream.take(2):
        assert all(batch.images.shape[1:] == stream.image_shape for batch in batches(task))


class Counting:
    """A source that counts what it is asked for."""

    def __init__(self, source):
        self._source = source
        self.asked = {"pools": 0, "images": 0}

    def __getattr__(self, name):
        return getattr(self._source, name)

    def pool(self, class_id, split):
        self.asked["pools"] += 1
        return self._source.pool(class_id, split)

    def draw(self, class_ids, image_ids):
        self.asked["images"] += len(class_ids)
        return self._source.draw(class_ids, image_ids)


def work(settings, act):
    """What a stream asks of its source to do something."""
    stream = streams.build(settings)
    counting = Counting(stream.source)
    stream.source = stream.scenario.source = counting
    act(stream)
    return counting.asked


@pytest.mark.parametrize("boundaries", ["sharp", "gradual", "recurring"])
def test_a_late_task_takes_no_more_work_than_an_early_one(boundaries):
    settings = {"stream": "sprites", **SMALL, "boundaries": boundaries}
    early, late = (work(settings, lambda s, k=k: batches(s.task(k))) for k in (3, 3_000_000))
    assert early == late


def test_a_late_blurry_block_takes_no_more_work_than_an_early_one():
    settings = {"stream": "sprites", **SMALL, "boundaries": "blurry"}

    def play(first):
        return work(settings, lambda s: [batches(s.task(k)) for k in range(first, first + 5)])

    early, late = play(0), play(5_000_000)
    assert early["images"] == late["images"]
    assert early["pools"] == late["pools"]


def test_a_task_that_is_only_counted_draws_nothing(settings):
    asked = work(settings, lambda s: [task.labels for task in s.take(N_TASKS)])
    assert asked["images"] == 0


def test_nothing_is_learned_from_a_view(stream):
    view = stream.task(0).for_learner()
    assert isinstance(view.train, Batch)
    assert not hasattr(view, "test")
    assert not hasattr(view, "held_out")
