from collections import Counter
from itertools import chain
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams import ScenarioSettings, ScenarioStream
from everlearn.streams.scenarios.class_incremental import ClassSets

from .toy_source import SIZES, ToySource, rows_of


class ToySettings(ScenarioSettings):
    kind: ClassVar[str] = "toy"

    def build(self, n_there=None, sizes=SIZES):
        return ScenarioStream(spec=self, scenario=self.arrange(ToySource(n_there, sizes)))


def toy(n_there=None, sizes=SIZES, **settings):
    return ToySettings(**settings).build(n_there, sizes)


def train_rows(stream, tasks):
    return list(chain.from_iterable(rows_of(stream.task(k).train) for k in tasks))


def everything(classes):
    source = ToySource()
    return Counter((c, int(p)) for c in classes for p in source.pool(c, "train"))


def test_class_incremental_gives_each_task_its_own_classes():
    task = toy(classes_per_task=3).task(4)
    assert task.labels == (12, 13, 14)
    assert Counter(rows_of(task.train)) == everything([12, 13, 14])
    assert [label for label, _ in rows_of(task.train)] == task.train.labels.tolist()
    assert (len(task.val), len(task.test)) == (9, 15)
    assert task.train.tasks is None
    assert not task.ordered


def test_training_rows_come_mixed():
    labels = toy(classes_per_task=4).task(0).train.labels
    assert (np.diff(labels) != 0).mean() > 0.5


def test_domain_and_task_incremental_show_the_same_images_under_other_names():
    streams = [toy(scenario=f"{s}-incremental", classes_per_task=3) for s in ("class", "domain", "task")]
    by_class, by_domain, by_task = (stream.task(5) for stream in streams)
    assert rows_of(by_class.train) == rows_of(by_domain.train) == rows_of(by_task.train)
    assert by_domain.labels == by_task.labels == (0, 1, 2)
    assert (by_domain.test.labels == by_class.test.labels % 3).all()
    assert by_domain.test.tasks is None
    assert set(by_task.test.tasks.tolist()) == {5}
    assert by_task.exemplars.tasks.tolist() == [5, 5, 5]


def test_nc_starts_with_more():
    stream = toy(scenario="nc", classes_per_task=2, first_classes=6)
    assert [stream.task(k).labels for k in range(3)] == [(0, 1, 2, 3, 4, 5), (6, 7), (8, 9)]
    assert toy(scenario="nc", classes_per_task=2).task(0).labels == (0, 1, 2, 3)


def test_ni_cuts_every_class_into_sessions():
    stream = toy(scenario="ni", n_classes=3, n_sessions=5)
    assert len(stream) == 5
    assert all(task.labels == (0, 1, 2) for task in stream)
    assert Counter(train_rows(stream, range(5))) == everything(range(3))
    assert {len(task.train) for task in stream} <= {3 * 4, 3 * 5}


def test_nic_391():
    stream = toy(scenario="nic")
    assert len(stream) == 391
    first, *others = list(stream)
    assert first.labels == tuple(range(10))
    assert all(len(task.labels) == 1 for task in others)
    assert Counter(train_rows(stream, range(391))) == everything(range(50))
    assert Counter(task.labels[0] for task in others) == {c: 8 - (c < 10) for c in range(50)}


def test_a_finite_source_ends_with_a_smaller_task():
    stream = toy(n_there=7, classes_per_task=3)
    assert [task.labels for task in stream] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert len(toy(n_classes=6, classes_per_task=3)) == 2


def test_n_tasks_only_cuts():
    for boundaries in ("sharp", "blurry", "gradual", "recurring"):
        short, endless = toy(boundaries=boundaries, n_tasks=7), toy(boundaries=boundaries)
        assert short.task(6).train == endless.task(6).train


def test_recurring_brings_earlier_tasks_back():
    stream = toy(boundaries="recurring", recur_every=3, classes_per_task=2)
    labels = [stream.task(k).labels for k in range(9)]
    fresh = [labels[k] for k in range(9) if (k + 1) % 3]
    assert fresh == [(2 * s, 2 * s + 1) for s in range(6)]
    for k in (2, 5, 8):
        origin = labels.index(labels[k])
        assert origin < k
        assert Counter(rows_of(stream.task(k).train)) == Counter(rows_of(stream.task(origin).train))


def test_recurring_chooses_among_all_earlier_sets():
    stream = toy(boundaries="recurring", recur_every=2, classes_per_task=1)
    back = {stream.task(k).labels[0] / k for k in range(1, 400, 2)}
    assert min(back) < 0.1
    assert max(back) > 0.4


def test_recurring_ends_with_the_last_new_set():
    stream = toy(n_there=8, boundaries="recurring", recur_every=3, classes_per_task=2)
    assert len(stream) == 5
    assert stream.task(4).labels == (6, 7)


def test_recurring_tells_the_task_in_which_classes_first_came():
    stream = toy(scenario="task-incremental", boundaries="recurring", recur_every=3, classes_per_task=2)
    for k in range(12):
        (home,) = set(stream.task(k).test.tasks.tolist())
        assert (home == k) == ((k + 1) % 3 != 0)
        assert rows_of(stream.task(home).test) == rows_of(stream.task(k).test)


def test_gradual_uses_every_image_once():
    stream = toy(n_there=8, boundaries="gradual", classes_per_task=2)
    assert Counter(train_rows(stream, range(4))) == everything(range(8))


def test_gradual_shifts_from_one_set_to_the_next():
    stream = toy(boundaries="gradual", classes_per_task=20, sizes={**SIZES, "train": 100})
    task = stream.task(3)
    assert task.ordered
    assert task.labels == tuple(range(60, 100))
    assert set(task.test.labels.tolist()) == set(range(60, 80))
    coming = task.train.labels >= 80
    shares = [part.mean() for part in np.array_split(coming, 10)]
    np.testing.assert_allclose(shares, np.linspace(0.05, 0.95, 10), atol=0.12)


def test_gradual_starts_with_the_first_set_alone():
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
    assert Counter(train_rows(stream, tasks)) == everything(classes)
    homes = list(chain.from_iterable(sorted(set(stream.task(k).test.labels.tolist())) for k in tasks))
    assert sorted(homes) == list(classes)
    assert all(len(stream.task(k).test) for k in tasks)


def strays(stream, n_tasks):
    home = {c: k for k in range(n_tasks) for c in set(stream.task(k).test.labels.tolist())}
    return [(c, k) for k in range(n_tasks) for c in stream.task(k).train.labels.tolist() if home[c] != k]


def test_the_two_percentages_of_blurry_streams():
    stream = toy(boundaries="blurry", classes_per_task=20, disjoint_percent=50, blurry_percent=10)
    gone = strays(stream, 5)
    n_pooled = 50 * SIZES["train"] // 10
    assert n_pooled / 2 < len(gone) <= n_pooled  # some of the pooled come home
    assert len({c for c, _ in gone}) <= 50
    assert strays(toy(boundaries="blurry", disjoint_percent=100), 5) == []
    assert strays(toy(boundaries="blurry", blurry_percent=0), 5) == []


def test_blurry_labels_are_all_that_occur():
    stream = toy(boundaries="blurry", classes_per_task=4)
    for task in stream.take(10):
        assert set(task.labels) == set(task.train.labels.tolist())
        assert task.exemplars.labels.tolist() == list(task.labels)


def test_a_finite_blurry_stream_ends_with_a_shorter_block():
    stream = toy(n_there=23, boundaries="blurry", classes_per_task=3, block_tasks=5)
    assert len(stream) == 7
    assert Counter(train_rows(stream, range(7))) == everything(range(21))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_sessions": 3}, "sessions is only for scenario ni and nic"),
        ({"first_classes": 3}, "first_classes is only for scenario nc and nic"),
        ({"recur_every": 3}, "recur_every is only for boundaries recurring"),
        ({"boundaries": "gradual", "blurry_percent": 3}, "blurry_percent is only for boundaries blurry"),
        ({"scenario": "nic", "boundaries": "blurry"}, "boundaries blurry cannot be had with scenario nic"),
        (
            {"scenario": "ni", "boundaries": "recurring"},
            "boundaries recurring cannot be had with scenario ni",
        ),
        ({"scenario": "domain-incremental", "boundaries": "blurry"}, "cannot be had with scenario domain"),
        ({"boundaries": "recurring", "recur_every": 1}, "recur_every is 1; it must be at least 2"),
        ({"n_there": 5}, "there are 5 classes, too few for a task of 10"),
        ({"n_there": 5, "n_classes": 6}, "n_classes is 6, but there are only 5"),
        ({"n_there": 30, "n_tasks": 4}, "n_tasks is 4, but toy/class-incremental-v1 has only 3"),
        ({"scenario": "ni", "n_sessions": 25}, "24 training images, too few for 25 sessions"),
    ],
)
def test_contradictions_are_refused(wrong, words):
    with pytest.raises(BadInput, match=words):
        toy(**wrong)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 60))
def test_class_sets_partition_the_classes(first, each, n_classes):
    n_classes = max(n_classes, first)
    sets = ClassSets(first, each, n_classes)
    members = [sets.members(s) for s in range(sets.n_sets)]
    assert np.concatenate(members).tolist() == list(range(n_classes))
    assert all(len(m) for m in members)
    for s, classes in enumerate(members):
        assert set(sets.number(classes).tolist()) == {s}
