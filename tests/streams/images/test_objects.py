"""Real objects over photos: what a session shares, and what is cut out."""

from pathlib import Path

import numpy as np
import pytest

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams.images.objects import without_background
from tests.golden.datasets import write_objects

SMALL = {"n_classes": 6, "image_size": 32, "frames_per_session": 4, "first_classes": 2, "classes_per_task": 2}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_objects(tmp_path)


def corners(images: np.ndarray) -> np.ndarray:
    return images[:, [0, 0, -1, -1], [0, -1, 0, -1]]


def test_sessions_and_tasks(root: Path) -> None:
    stream = streams.objects_50(data=root, **SMALL)
    assert [len(task.labels) for task in stream] == [2, 2, 2]
    task = stream.task(1)
    assert (len(task.train), len(task.test), len(task.val)) == (2 * 8 * 4, 2 * 3 * 4, 2 * 4)
    assert task.train.images.shape[1:] == (32, 32, 3)
    names = [stream.source.class_name(c) for c in range(6)]
    assert sorted(names) == ["0000", "0001", "0002", "kind0", "kind1", "kind2"]
    nic = streams.objects_50(data=root, scenario="nic", sessions_per_task=2, **SMALL)
    assert nic.n_tasks == 1 + (6 * 8 - 2) // 2


def test_objects_of_a_session_share_photo_and_light(root: Path) -> None:
    source = streams.objects_50(data=root, **SMALL).source
    frames = np.arange(8)
    one, other = (source.load(np.full(8, c), frames)[0] for c in (0, 1))
    same = (corners(one) == corners(other)).all(axis=2).mean()
    assert same > 0.9
    assert not np.array_equal(one, other)
    assert not np.array_equal(corners(one)[0], corners(one)[4]), "another session has another background"


def test_images_do_not_depend_on_what_was_loaded_before(root: Path) -> None:
    classes, ids = np.array([3, 0, 3]), np.array([7, 9, 30])
    together = streams.objects_50(data=root, **SMALL).source.load(classes, ids)[0]
    source = streams.objects_50(data=root, **SMALL).source
    for row in (2, 0, 1):
        assert np.array_equal(source.load(classes[[row]], ids[[row]])[0][0], together[row])


def test_dark_pixels_inside_an_object_are_kept() -> None:
    image = np.zeros((9, 9, 4), np.uint8)
    image[2:7, 2:7], image[4, 4] = 200, 0
    alpha = without_background(image)[..., 3]
    assert (alpha[2:7, 2:7] == 255).all()
    assert int((alpha > 0).sum()) == 25


def test_missing_data(root: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="n_classes is 8, but there are only 6 objects"):
        streams.objects_50(data=root, **(SMALL | {"n_classes": 8}))
    for photo in (root / "grocery").rglob("*.png"):
        photo.unlink()
    with pytest.raises(BadInput, match="grocery has no photos in its folder train"):
        streams.objects_50(data=root, **SMALL)
    (root / "eth80" / "empty object").mkdir()
    with pytest.raises(BadInput, match="the folder 'empty object' of eth80 has no images"):
        streams.objects_50(data=root, **(SMALL | {"n_classes": 8}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"there is no folder .*eth80'; put eth80.zip"):
        streams.objects_50(data=tmp_path / "empty")
