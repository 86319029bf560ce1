"""NI and NIC over real images, which nobody filmed: sessions are cut from what there is to learn from."""

import numpy as np
import pytest

from everlearn.streams import Stream, fashion, folder

from .files import png, write_mnist, write_tree


@pytest.fixture(params=["folder", "fashion"])
def stream(request, tmp_path) -> Stream:
    """Single sessions of single classes: three classes with eight images to learn from in four sessions."""
    nic = {"scenario": "nic", "first_classes": 2, "classes_per_task": 1, "n_sessions": 4, "image_size": 16}
    if request.param == "fashion":
        write_mnist(tmp_path, name="fashion-mnist", n_train=100)
        return fashion(data=tmp_path, n_classes=3, drawn_size=16, split=(8, 2, 2), **nic)
    images = {
        f"class {c}/{i}.png": png(np.full((4, 4), 20 * i + c, np.uint8)) for c in range(3) for i in range(12)
    }
    write_tree(tmp_path, images)
    return folder(data=tmp_path, split=(8, 2, 2), **nic)


def test_every_image_comes_once_one_session_of_one_class_at_a_time(stream: Stream) -> None:
    assert len(stream) == 1 + 3 * 4 - 2
    tasks = list(stream)
    assert tasks[0].labels == (0, 1)
    assert all(len(task.labels) == 1 for task in tasks[1:])
    assert [len(task.train) for task in tasks] == [4, *[2] * 10]
    assert np.bincount([label for task in tasks for label in task.train.labels]).tolist() == [8, 8, 8]
    shown = [image.tobytes() for task in tasks for image in task.train.images]
    assert len(set(shown)) == len(shown)
