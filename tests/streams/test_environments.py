import os

import numpy as np
import pytest
from PIL import Image

from everlearn import streams
from everlearn.errors import BadInput

SMALL = {"image_size": 16, "n_shapes": 4, "images_per_shape": 40, "images_per_stage": 80}
ALL = ("sprites", "moving-sprites", "inverted-sprites", "coloured-sprites", "moving-inverted-sprites")


def make(sequence, **settings):
    return streams.environments(sequence=sequence, **{**SMALL, **settings})


def test_tasks_are_in_order():
    stream = make(ALL)
    assert stream.id == "environments/sequence-v1"
    assert [task.name for task in stream] == list(ALL)
    assert {task.labels for task in stream} == {(0, 1, 2, 3)}
    assert {len(task.train) for task in stream} == {80}
    assert {len(task.test) for task in stream} == {16}


def test_environments_share_factors():
    by_name = {task.name: task.test for task in make(ALL)}
    still, moving = by_name["sprites"].factors, by_name["moving-sprites"].factors
    assert (still.scale == moving.scale).all()
    assert (still.angle == moving.angle).all()
    assert (still.x == 0.5).all()
    assert len(np.unique(moving.x)) == 16
    assert (by_name["inverted-sprites"].images == 255 - by_name["sprites"].images).all()
    assert len(np.unique(by_name["coloured-sprites"].factors.colour, axis=0)) > 10


def test_stream_is_gray_without_coloured_environments():
    assert make(["sprites", "moving-sprites"]).image_shape == (16, 16)
    assert make(["sprites", "coloured-sprites"]).image_shape == (16, 16, 3)


def test_recurring_sequence_has_other_images():
    stream = make(["sprites", "moving-sprites"], recurring=True)
    assert stream.n_tasks is None
    assert [task.name for task in stream.take(5)] == ["sprites", "moving-sprites"] * 2 + ["sprites"]
    assert stream.task(0).train != stream.task(2).train
    assert stream.task(0).test == stream.task(2).test
    assert stream.task(10**9).name == "sprites"


def test_training_images_are_balanced():
    counts = np.bincount(make(["sprites"], images_per_stage=30).task(0).train.labels)
    assert sorted(counts) == [7, 7, 8, 8]


def test_images_are_limited_by_the_environment():
    assert len(make(["sprites"], images_per_stage=1000).task(0).train) == 4 * 32


def test_images_per_task():
    stream = make(["sprites", "moving-sprites"], images_per_stage=[40, 60], recurring=True)
    assert [len(task.train) for task in stream.take(4)] == [40, 60, 40, 60]
    equal = make(["sprites", "moving-sprites"], images_per_stage=[40, 40])
    assert equal.fingerprint() == make(["sprites", "moving-sprites"], images_per_stage=40).fingerprint()


def test_mix():
    stream = make(["sprites", "inverted-sprites"], mix=0.25)
    corners = stream.task(0).train.images[:, 0, 0]
    assert (corners == 255 - 169).sum() == 20
    assert (stream.task(0).test.images[:, 0, 0] == 169).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sequence": []}, "sequence is []; it must have at least 1 item"),
        ({"sequence": ["moving-sprits"]}, "unknown dataset 'sprits'; did you mean 'sprites'?"),
        ({"sequence": ["moving-"]}, "unknown dataset ''; known are"),
        ({"sequence": ["movin-sprites"]}, "unknown variant 'movin'; did you mean 'moving'?"),
        ({"image_size": 16, "drawn_size": 17}, "drawn_size is 17, more than image_size 16; reduce it"),
        ({"sequence": ["sprites"], "mix": 2}, "mix is 2; it must be at most 1"),
        (
            {"sequence": ["sprites"], "images_per_stage": [5, 6]},
            "images_per_stage has 2 numbers, but the sequence has 1 environments; give one number for all",
        ),
        ({"sequence": ["sprites"], "n_tasks": 2}, "n_tasks is 2, but environments/sequence-v1 has only 1"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(BadInput) as error:
        streams.environments(**settings)
    assert message in str(error.value)


needs_data = pytest.mark.skipif(not os.environ.get("EVERLEARN_DATA"), reason="EVERLEARN_DATA is not set")


@needs_data
@pytest.mark.parametrize(("drawn_size", "widest"), [(None, 14), (24, 24)])
def test_drawn_size(drawn_size, widest):
    stream = streams.environments(
        sequence=("fashion", "moving-fashion"), image_size=32, images_per_stage=200, drawn_size=drawn_size
    )
    for task in stream:
        covered = task.train.images > 64
        widths = [np.ptp(np.flatnonzero(each.any(axis=0))) + 1 for each in covered]
        assert widest - 1 <= max(widths) <= widest
    centers = stream.task(1).test.factors.x * 16 + 8
    first = max(8, widest / 2)  # images are complete and not closer to the border than x = 0
    assert (centers.min(), centers.max()) == (first, 32 - first)


@needs_data
def test_datasets_have_distinct_labels():
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


def test_a_folder_of_images_is_an_environment(tmp_path):
    """Such as faces, which cannot be downloaded here."""
    for number in range(40):
        place = tmp_path / "celeba" / "faces"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((20, 16, 3), 6 * number, np.uint8)).save(place / f"{number}.png")
    sequence = ["celeba", "inverted-celeba", "moving-celeba"]
    stream = streams.environments(sequence=sequence, data=tmp_path, image_size=16, images_per_stage=20)
    still, inverted, moving = (task.train.images for task in stream)
    assert still.shape[1:] == (16, 16), "gray, as the other environments"
    assert (still > 0).mean() > 0.6, "images fill the canvas"
    assert inverted.mean() > still.mean() > moving.mean()
    assert [task.labels for task in stream] == [(0,)] * 3
