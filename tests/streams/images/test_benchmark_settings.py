"""Permuted and rotated MNIST, orders of classes, and the default tasks of the benchmarks."""

import numpy as np
import pytest

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams import permuted_mnist, rotated_mnist, split_mnist
from tests.golden.datasets import make_arrays, write_idx

IMAGES, LABELS = make_arrays("train", 28)
TASKS = {
    "split-mnist": (5, 28, 2),
    "permuted-mnist": (10, 28, 10),
    "rotated-mnist": (10, 28, 10),
    "split-fashion": (5, 28, 2),
    "split-cifar10": (5, 32, 2),
    "split-cifar100": (10, 32, 10),
    "split-tiny-imagenet": (10, 64, 20),
    "imagenet-r": (10, 224, 20),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_idx(tmp_path_factory.mktemp("data"))


def pixels(images):
    return sorted(image.tobytes() for image in images)


def test_split_mnist_shows_every_image_exactly(data):
    stream = split_mnist(data=data)
    assert [task.labels for task in stream] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    assert pixels(image for task in stream for image in task.train.images) == pixels(IMAGES)
    assert sum(len(task.val) for task in stream) == 0


def test_permuted_tasks_have_the_same_labels_and_pixels_in_a_fixed_order(data):
    stream = permuted_mnist(data=data)
    assert (len(stream), stream.labels_recur, stream.provides_task_ids) == (10, True, False)
    plain, first, again = stream.task(0), stream.task(1), permuted_mnist(data=data).task(1)
    assert plain.labels == first.labels == tuple(range(10))
    assert pixels(plain.train.images) == pixels(IMAGES), "the first task is MNIST as it is"
    assert first.train == again.train
    assert sorted(first.test.images[0].ravel()) == sorted(plain.test.images[0].ravel())
    order = np.array([np.flatnonzero((column == plain.test.images.reshape(20, -1).T).all(axis=1))
                      for column in first.test.images.reshape(20, -1).T], object)  # fmt: skip
    assert all(len(found) for found in order), "every image of the task has the same permutation"
    assert pixels(first.train.images) != pixels(IMAGES)
    assert pixels(stream.task(2).train.images) != pixels(first.train.images)
    assert pixels(permuted_mnist(data=data, seed=1).task(1).train.images) != pixels(first.train.images)


def test_permutation_of_the_first_task_and_number_of_tasks(data):
    stream = permuted_mnist(data=data, permute_first=True, n_tasks=30, rgb=True)
    assert (len(stream), stream.image_shape) == (30, (28, 28, 3))
    gray = permuted_mnist(data=data, permute_first=True)
    assert pixels(gray.task(0).train.images) != pixels(IMAGES)
    assert (stream.task(0).train.images[..., 1] == gray.task(0).train.images).all()


def test_rotated_tasks_have_their_angles(data):
    stream = rotated_mnist(data=data, angles=(0, 90, 45))
    assert len(stream) == 3
    plain, quarter = stream.task(0), stream.task(1)
    assert pixels(plain.train.images) == pixels(IMAGES)
    clockwise = np.rot90(IMAGES, -1, axes=(1, 2))
    assert pixels(quarter.train.images) == pixels(clockwise)
    assert np.allclose(quarter.train.factors.angle, np.pi / 2)
    assert np.allclose(stream.task(2).test.factors.angle, np.pi / 4)
    assert quarter.exemplars == plain.exemplars
    assert stream.source.class_name(13) == "3 (rotation 1)"


def test_domains_with_task_ids_and_as_classes(data):
    batch = permuted_mnist(data=data, scenario="task-incremental", n_tasks=3).task(2).test
    assert set(batch.tasks.tolist()) == {2}
    assert rotated_mnist(data=data, scenario="class-incremental").task(1).labels == tuple(range(10, 20))


def test_class_orders(data):
    order = (9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
    stream = split_mnist(data=data, class_order=order)
    assert [stream.source.class_name(c) for c in range(3)] == ["9", "8", "7"]
    nine = stream.task(0).train.images[stream.task(0).train.labels == 0]
    assert pixels(nine) == pixels(IMAGES[LABELS == 9])
    assert streams.from_toml(stream.spec.to_toml()) == stream.spec
    icarl = split_mnist(data=data, class_order="icarl")
    assert sorted(icarl.source.class_name(c) for c in range(10)) == list("0123456789")
    for wrong, message in (
        ((0, 1), "class_order has 2 ids; it must contain each of 0 to 9 once"),
        ((0, *range(9)), "class_order has 10 ids"),
        ("icral", "unknown class_order 'icral'; did you mean 'icarl'"),
    ):
        with pytest.raises(BadInput, match=message):
            split_mnist(data=data, class_order=wrong)
    with pytest.raises(BadInput, match="shuffled_classes and class_order both set the order"):
        split_mnist(data=data, class_order="icarl", shuffled_classes=True)


@pytest.mark.parametrize("kind", TASKS)
def test_default_tasks(kind):
    settings = streams.settings_class(kind)()
    n_tasks, size, classes = TASKS[kind]
    assert (settings.image_size, settings.resolved_drawn_size, settings.classes_per_task) == (
        size,
        size,
        classes,
    )
    domains = {"permuted-mnist": settings.n_tasks, "rotated-mnist": len(getattr(settings, "angles", ()))}
    assert domains.get(kind, n_tasks) == n_tasks


def test_real_mnist(real_data):
    scenario = split_mnist(data=real_data).scenario
    sizes = {part: [len(scenario.samples(k, part)) for k in range(5)] for part in ("train", "test")}
    assert sizes == {"train": [12665, 12089, 11263, 12183, 11800], "test": [2115, 2042, 1874, 1986, 1983]}


def test_all_characters_of_omniglot(real_data):
    full = real_data / "omniglot-full"
    if not full.is_dir():
        pytest.skip("EVERLEARN_DATA has no folder omniglot-full")
    stream = streams.omniglot(data=full, classes_per_task=3)
    assert (stream.source.n_classes, len(stream)) == (1623, 541)
    assert len(stream.task(540).train) == 42
