from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams.scenarios.class_incremental import ClassSets

from .toy_source import SIZES, ToySource, samples_of, toy


def train_samples(stream, tasks):
    return list(chain.from_iterable(samples_of(stream.task(k).train) for k in tasks))


def all_samples(classes):
    source = ToySource()
    return Counter((c, int(p)) for c in classes for p in source.pool(c, "train"))


def test_class_incremental_tasks_have_disjoint_classes():
    task = toy(classes_per_task=3).task(4)
    assert task.labels == (12, 13, 14)
    assert Counter(samples_of(task.train)) == all_samples([12, 13, 14])
    assert [label for label, _ in samples_of(task.train)] == task.train.labels.tolist()
    assert (len(task.val), len(task.test)) == (9, 15)
    assert task.train.tasks is None
    assert not task.ordered


def test_training_samples_are_shuffled():
    labels = toy(classes_per_task=4).task(0).train.labels
    assert (np.diff(labels) != 0).mean() > 0.5


def test_domain_and_task_incremental_differ_in_labels_only():
    streams = [toy(scenario=f"{s}-incremental", classes_per_task=3) for s in ("class", "domain", "task")]
    by_class, by_domain, by_task = (stream.task(5) for stream in streams)
    assert samples_of(by_class.train) == samples_of(by_domain.train) == samples_of(by_task.train)
    assert by_domain.labels == by_task.labels == (0, 1, 2)
    assert (by_domain.test.labels == by_class.test.labels % 3).all()
    assert by_domain.test.tasks is None
    assert set(by_task.test.tasks.tolist()) == {5}
    assert by_task.exemplars.tasks.tolist() == [5, 5, 5]


def test_nc_has_a_larger_first_task():
    stream = toy(scenario="nc", classes_per_task=2, first_classes=6)
    assert [stream.task(k).labels for k in range(3)] == [(0, 1, 2, 3, 4, 5), (6, 7), (8, 9)]
    assert toy(scenario="nc", classes_per_task=2).task(0).labels == (0, 1, 2, 3)


def test_ni_splits_every_class_into_sessions():
    stream = toy(scenario="ni", n_classes=3, n_sessions=5)
    assert len(stream) == 5
    assert all(task.labels == (0, 1, 2) for task in stream)
    assert Counter(train_samples(stream, range(5))) == all_samples(range(3))
    assert {len(task.train) for task in stream} <= {3 * 4, 3 * 5}


def test_nic_has_391_tasks():
    stream = toy(scenario="nic")
    assert len(stream) == 391
    first, *others = list(stream)
    assert first.labels == tuple(range(10))
    assert all(len(task.labels) == 1 for task in others)
    assert Counter(train_samples(stream, range(391))) == all_samples(range(50))
    assert Counter(task.labels[0] for task in others) == {c: 8 - (c < 10) for c in range(50)}


@pytest.mark.parametrize(("sessions_per_task", "n_tasks"), [(2, 196), (5, 79)])
def test_nic_with_several_sessions_per_task_has_the_same_samples(sessions_per_task, n_tasks):
    single, several = toy(scenario="nic"), toy(scenario="nic", sessions_per_task=sessions_per_task)
    assert several.n_tasks == n_tasks
    joined = several.task(1)
    parts = [single.task(k) for k in range(1, 1 + sessions_per_task)]
    assert joined.labels == tuple(sorted({label for part in parts for label in part.labels}))
    assert sorted(joined.train.labels) == sorted(np.concatenate([part.train.labels for part in parts]))
    for n in (1, 2, 20):
        n_sessions = 1 + (n - 1) * sessions_per_task
        assert set(several.eval_sample(n, 5000).labels) == set(single.eval_sample(n_sessions, 5000).labels)
    first = [several.scenario.first_test_task(np.array([c]))[0] for c in range(50)]
    assert all(c in several.task(int(k)).labels for c, k in enumerate(first))


def test_last_task_of_a_finite_source_may_be_smaller():
    stream = toy(n_source_classes=7, classes_per_task=3)
    assert [task.labels for task in stream] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert len(toy(n_classes=6, classes_per_task=3)) == 2


def test_n_tasks_does_not_change_tasks():
    for boundaries in ("sharp", "blurry", "gradual", "recurring"):
        short, infinite = toy(boundaries=boundaries, n_tasks=7), toy(boundaries=boundaries)
        assert short.task(6).train == infinite.task(6).train


def test_recurring_repeats_earlier_tasks():
    stream = toy(boundaries="recurring", recur_every=3, classes_per_task=2)
    labels = [stream.task(k).labels for k in range(9)]
    new = [labels[k] for k in range(9) if (k + 1) % 3]
    assert new == [(2 * s, 2 * s + 1) for s in range(6)]
    for k in (2, 5, 8):
        origin = labels.index(labels[k])
        assert origin < k
        assert Counter(samples_of(stream.task(k).train)) == Counter(samples_of(stream.task(origin).train))


def test_recurring_selects_from_all_earlier_sets():
    stream = toy(boundaries="recurring", recur_every=2, classes_per_task=1)
    positions = {stream.task(k).labels[0] / k for k in range(1, 400, 2)}
    assert min(positions) < 0.1
    assert max(positions) > 0.4


def test_recurring_ends_with_the_last_new_set():
    stream = toy(n_source_classes=8, boundaries="recurring", recur_every=3, classes_per_task=2)
    assert len(stream) == 5
    assert stream.task(4).labels == (6, 7)


def test_recurring_task_ids_are_those_of_the_first_occurrence():
    stream = toy(scenario="task-incremental", boundaries="recurring", recur_every=3, classes_per_task=2)
    for k in range(12):
        (first,) = set(stream.task(k).test.tasks.tolist())
        assert (first == k) == ((k + 1) % 3 != 0)
        assert samples_of(stream.task(first).test) == samples_of(stream.task(k).test)


def test_gradual_uses_every_image_once():
    stream = toy(n_source_classes=8, boundaries="gradual", classes_per_task=2)
    assert Counter(train_samples(stream, range(4))) == all_samples(range(8))


def test_gradual_proportions_are_linear_in_time():
    stream = toy(boundaries="gradual", classes_per_task=20, sizes={**SIZES, "train": 100})
    task = stream.task(3)
    assert task.ordered
    assert task.labels == tuple(range(60, 100))
    assert set(task.test.labels.tolist()) == set(range(60, 80))
    rising = task.train.labels >= 80
    proportions = [part.mean() for part in np.array_split(rising, 10)]
    np.testing.assert_allclose(proportions, np.linspace(0.05, 0.95, 10), atol=0.12)


def test_gradual_starts_with_the_first_set_only():
    task = toy(boundaries="gradual", classes_per_task=2).task(0)
    assert set(task.train.labels[: SIZES["train"]].tolist()) == {0, 1}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 6), st.integers(1, 4), st.integers(0, 100), st.integers(0, 100), st.integers(0, 2**63 - 1)
)
def test_blurry_blocks_use_every_image_once(block, each, disjoint, blurry, seed):
    stream = toy(
        boundaries="blurry",
        block_tasks=block,
        classes_per_task=each,
        disjoint_percent=disjoint,
        blurry_percent=blurry,
        seed=seed,
    )
    tasks = range(2 * block, 3 * block)
    classes = range(2 * block * each, 3 * block * each)
    assert Counter(train_samples(stream, tasks)) == all_samples(classes)
    tested = list(chain.from_iterable(sorted(set(stream.task(k).test.labels.tolist())) for k in tasks))
    assert sorted(tested) == list(classes)
    assert all(len(stream.task(k).test) for k in tasks)


def exchanged(stream, n_tasks):
    own = {c: k for k in range(n_tasks) for c in set(stream.task(k).test.labels.tolist())}
    return [(c, k) for k in range(n_tasks) for c in stream.task(k).train.labels.tolist() if own[c] != k]


def test_blurry_percentages():
    stream = toy(boundaries="blurry", classes_per_task=20, disjoint_percent=50, blurry_percent=10)
    samples = exchanged(stream, 5)
    n_pooled = 50 * SIZES["train"] // 10
    assert n_pooled / 2 < len(samples) <= n_pooled  # some return to their own task
    assert len({c for c, _ in samples}) <= 50
    assert exchanged(toy(boundaries="blurry", disjoint_percent=100), 5) == []
    assert exchanged(toy(boundaries="blurry", blurry_percent=0), 5) == []


def test_last_block_of_a_finite_blurry_stream_may_be_shorter():
    stream = toy(n_source_classes=23, boundaries="blurry", classes_per_task=3, block_tasks=5)
    assert len(stream) == 7
    assert Counter(train_samples(stream, range(7))) == all_samples(range(21))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_sessions": 3}, "n_sessions is only for scenario ni and nic"),
        ({"sessions_per_task": 3}, "sessions_per_task is only for scenario nic"),
        ({"first_classes": 3}, "first_classes is only for scenario nc and nic"),
        ({"recur_every": 3}, "recur_every is only for boundaries recurring"),
        ({"boundaries": "gradual", "blurry_percent": 3}, "blurry_percent is only for boundaries blurry"),
        ({"scenario": "nic", "boundaries": "blurry"}, "blurry cannot be combined with scenario nic"),
        ({"scenario": "ni", "boundaries": "recurring"}, "recurring cannot be combined with scenario ni"),
        ({"scenario": "domain-incremental", "boundaries": "blurry"}, "combined with scenario domain"),
        ({"boundaries": "recurring", "recur_every": 1}, "recur_every is 1; it must be at least 2"),
        ({"n_source_classes": 5}, "there are 5 classes, too few for a task of 10"),
        ({"n_source_classes": 5, "n_classes": 6}, "n_classes is 6, but there are only 5"),
        ({"n_source_classes": 30, "n_tasks": 4}, "n_tasks is 4, but toy/class-incremental-v1 has only 3"),
        ({"scenario": "ni", "n_sessions": 25}, "24 training images, too few for 25 sessions"),
    ],
)
def test_invalid_combinations_are_rejected(settings, message):
    with pytest.raises(BadInput, match=message):
        toy(**settings)


@settings(max_examples=50)
@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 60))
def test_class_sets_partition_the_classes(first, each, n_classes):
    n_classes = max(n_classes, first)
    sets = ClassSets(first, each, n_classes)
    members = [sets.classes(s) for s in range(sets.n_sets)]
    assert np.concatenate(members).tolist() == list(range(n_classes))
    assert all(len(m) for m in members)
    for s, classes in enumerate(members):
        assert set(sets.set_of(classes).tolist()) == {s}
