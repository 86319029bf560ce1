import os

import numpy as np
import pytest

from everlearn import streams
from everlearn.errors import BadInput

SMALL = {"image_size": 16, "n_shapes": 4, "images_per_shape": 40, "images_per_stage": 80}
ALL = ("sprites", "moving-sprites", "inverted-sprites", "coloured-sprites", "moving-inverted-sprites")


def stages(sequence, **settings):
    return streams.environments(sequence=sequence, **{**SMALL, **settings})


def test_stages_come_in_order_with_their_names():
    stream = stages(ALL)
    assert stream.id == "environments/sequence-v1"
    assert [task.name for task in stream] == list(ALL)
    assert {task.labels for task in stream} == {(0, 1, 2, 3)}
    assert {len(task.train) for task in stream} == {80}
    assert {len(task.test) for task in stream} == {16}


def test_environments_share_what_they_do_not_change():
    by_name = {task.name: task.test for task in stages(ALL)}
    still, moving = by_name["sprites"].factors, by_name["moving-sprites"].factors
    assert (still.scale == moving.scale).all()
    assert (still.angle == moving.angle).all()
    assert (still.x == 0.5).all()
    assert len(np.unique(moving.x)) == 16
    assert (by_name["inverted-sprites"].images == 255 - by_name["sprites"].images).all()
    assert len(np.unique(by_name["coloured-sprites"].factors.colour, axis=0)) > 10


def test_gray_stages_stay_gray():
    assert stages(["sprites", "moving-sprites"]).image_shape == (16, 16)
    assert stages(["sprites", "coloured-sprites"]).image_shape == (16, 16, 3)


def test_a_recurring_sequence_begins_again_with_other_images():
    stream = stages(["sprites", "moving-sprites"], recurring=True)
    assert stream.n_tasks is None
    assert [task.name for task in stream.take(5)] == ["sprites", "moving-sprites"] * 2 + ["sprites"]
    assert stream.task(0).train != stream.task(2).train
    assert stream.task(0).test == stream.task(2).test
    assert stream.task(10**9).name == "sprites"


def test_training_images_are_even_over_classes():
    counts = np.bincount(stages(["sprites"], images_per_stage=30).task(0).train.labels)
    assert sorted(counts) == [7, 7, 8, 8]


def test_a_stage_is_no_longer_than_its_environment():
    assert len(stages(["sprites"], images_per_stage=1000).task(0).train) == 4 * 32


def test_stages_may_differ_in_length():
    stream = stages(["sprites", "moving-sprites"], images_per_stage=[40, 60], recurring=True)
    assert [len(task.train) for task in stream.take(4)] == [40, 60, 40, 60]
    even = stages(["sprites", "moving-sprites"], images_per_stage=[40, 40])
    assert even.fingerprint() == stages(["sprites", "moving-sprites"], images_per_stage=40).fingerprint()


def test_the_longer_sequence_of_the_paper_can_be_asked_for():
    sequence = ["moving-sprites", "sprites", "inverted-sprites", "sprites", "moving-sprites"]
    names = [task.name for task in stages(sequence)]
    assert names == sequence


def test_a_share_of_each_stage_comes_from_the_others():
    stream = stages(["sprites", "inverted-sprites"], mix=0.25)
    corners = stream.task(0).train.images[:, 0, 0]
    assert (corners == 255 - 169).sum() == 20
    assert (stream.task(0).test.images[:, 0, 0] == 169).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sequence": []}, "sequence is []; it must have at least 1 item"),
        ({"sequence": ["moving-sprits"]}, "unknown data set 'sprits'; did you mean 'sprites'?"),
        ({"sequence": ["movin-sprites"]}, "unknown variant 'movin'; did you mean 'moving'?"),
        ({"image_size": 16, "drawn_size": 17}, "drawn_size is 17, more than image_size 16; make it smaller"),
        ({"sequence": ["sprites"], "mix": 2}, "mix is 2; it must be at most 1"),
        (
            {"sequence": ["sprites"], "images_per_stage": [5, 6]},
            "images_per_stage has 2 numbers, but there are 1 stages; give one number for all",
        ),
        ({"sequence": ["sprites"], "n_tasks": 2}, "n_tasks is 2, but environments/sequence-v1 has only 1"),
    ],
)
def test_impossible_sequences_are_refused(settings, sentence):
    with pytest.raises(BadInput) as error:
        streams.environments(**settings)
    assert sentence in str(error.value)


with_images = pytest.mark.skipif(
    not os.environ.get("EVERLEARN_DATA"), reason="EVERLEARN_DATA names no folder of real images"
)


@with_images
@pytest.mark.parametrize(("drawn_size", "widest"), [(None, 14), (14, 14), (20, 20), (24, 24)])
def test_real_images_are_as_large_as_is_said(drawn_size, widest):
    stream = streams.environments(
        sequence=("fashion", "moving-fashion"), image_size=32, images_per_stage=200, drawn_size=drawn_size
    )
    for task in stream:
        inked = task.train.images > 64
        widths = [np.ptp(np.flatnonzero(each.any(axis=0))) + 1 for each in inked]
        assert widest - 1 <= max(widths) <= widest
    middles = stream.task(1).test.factors.x * 16 + 8
    first = max(8, widest / 2)  # things stay whole, and are nowhere nearer to a border than x = 0 is
    assert (middles.min(), middles.max()) == (first, 32 - first)


@with_images
def test_labels_of_data_sets_do_not_clash():
    stream = streams.environments(
        sequence=("moving-fashion", "mnist", "moving-mnist", "sprites"), image_size=32, images_per_stage=50
    )
    fashion, digits, moving_digits, sprites = (task.labels for task in stream)
    assert fashion == tuple(range(10))
    assert digits == moving_digits == tuple(range(10, 20))
    assert sprites == tuple(range(20, 30))
    still, moving = stream.task(1).test, stream.task(2).test
    assert (still.labels == moving.labels).all()
    assert (still.factors.x == 0.5).all()
    assert len(np.unique(moving.factors.x)) > 5
    assert (stream.task(1).exemplars.images == stream.task(2).exemplars.images).all()
