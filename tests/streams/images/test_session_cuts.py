"""CIFAR-100 in sessions: which images a session has."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams.images.session_cuts import principal_projection

N_TRAIN, N_TEST = 16, 3


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Twelve classes; images of a class have brightness in the order 0, 5, 10, 15, 4, ..."""
    rng = np.random.default_rng(0)
    for split, n in (("train", N_TRAIN), ("test", N_TEST)):
        for label in range(12):
            folder = tmp_path / split / f"class {label:02}"
            folder.mkdir(parents=True)
            for number in range(n):
                noise = rng.integers(0, 20, (32, 32, 3))
                image = noise + 14 * (5 * number % N_TRAIN)
                Image.fromarray(image.astype(np.uint8)).save(folder / f"{number:02}.png")
    return tmp_path


def brightness(stream: streams.ScenarioStream, ids: np.ndarray) -> np.ndarray:
    return stream.source.load(np.zeros(len(ids), np.int64), ids)[0].mean(axis=(1, 2, 3))


def test_sessions_are_sorted_by_the_main_difference_of_images(root: Path) -> None:
    stream = streams.cifar_50(data=root, scenario="ni")
    means = [brightness(stream, ids) for ids in stream.source.sessions(0)]
    assert [len(each) for each in means] == [2] * 8
    assert all(a.max() < b.min() for a, b in pairwise(means))


def test_random_sessions_are_a_control(root: Path) -> None:
    stream = streams.cifar_50(data=root, scenario="ni", sessions="random")
    means = [brightness(stream, ids) for ids in stream.source.sessions(0)]
    assert np.mean([np.ptp(each) for each in means]) > 40
    assert sorted(np.concatenate(stream.source.sessions(0))) == list(range(N_TRAIN))


def test_sessions_do_not_depend_on_the_size_of_the_canvas(root: Path) -> None:
    small, large = (streams.cifar_50(data=root, image_size=size).source.sessions(3) for size in (16, 64))
    assert all(np.array_equal(a, b) for a, b in zip(small, large, strict=True))


def test_classes_and_tasks(root: Path) -> None:
    stream = streams.cifar_50(data=root, n_classes=11, classes_per_task=1, seed=4)
    assert [len(task.labels) for task in stream] == [10, 1]
    task = stream.task(1)
    assert (len(task.train), len(task.val), len(task.test)) == (N_TRAIN, 0, N_TEST)
    other = streams.cifar_50(data=root, n_classes=11, seed=5)
    assert stream.source.class_name(0) != other.source.class_name(0)
    with pytest.raises(BadInput, match="n_classes is 13, but there are only 12"):
        streams.cifar_50(data=root, n_classes=13)


def test_principal_projection_is_that_of_an_eigenvector() -> None:
    rows = np.random.default_rng(1).normal(size=(40, 6)) * [1, 2, 3, 4, 5, 9]
    centered = rows - rows.mean(axis=0)
    component = np.linalg.eigh(centered.T @ centered)[1][:, -1]
    component *= np.sign(component[np.abs(component).argmax()])
    np.testing.assert_allclose(principal_projection(rows), centered @ component, atol=1e-2)
    assert not principal_projection(np.ones((3, 2))).any()
