import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from everlearn.errors import BadInput
from everlearn.streams.adapters import to_torch, to_torch_iterable, to_torch_tasks
from tests.streams.exports.tiny_stream import TinyStream

ALL_FIELDS = ("image", "label", "factors", "task")


def counted(images) -> dict[bytes, int]:
    """How often each image occurs."""
    found: dict[bytes, int] = {}
    for image in images:
        key = np.asarray(image * 255).round().astype(np.uint8).tobytes()
        found[key] = found.get(key, 0) + 1
    return found


def expected(stream, tasks, split="train", times=1):
    images = np.concatenate([stream.task(k).split(split).images for k in tasks])
    return {image.tobytes(): times for image in images}


@pytest.mark.parametrize("rgb", [False, True])
def test_map_style_items_equal_the_stream(rgb):
    stream = TinyStream(rgb=rgb)
    dataset = to_torch(stream, [1, 3], split="test", fields=ALL_FIELDS)
    assert len(dataset) == 8
    test = stream.task(3).test
    image, label, factors, task = dataset[5]
    assert image.shape == ((3, 16, 16) if rgb else (1, 16, 16))
    assert image.dtype == torch.float32
    pixels = test.images[1].transpose(2, 0, 1) if rgb else test.images[1][None]
    np.testing.assert_array_equal((image * 255).round().numpy(), pixels)
    assert (int(label), int(task)) == (test.labels[1], 3)
    np.testing.assert_allclose(factors, test.factors.array()[1], rtol=1e-6)


def test_transform_is_applied_to_each_image():
    dataset = to_torch(TinyStream(), [0], transform=lambda image: image.mean())
    assert dataset[0][0].shape == ()


def test_one_dataset_per_task():
    stream = TinyStream(n_tasks=None)
    datasets = list(to_torch_tasks(stream, range(3), fields=("label", "task")))
    assert [len(dataset) for dataset in datasets] == [6, 6, 6]
    assert [int(dataset[0][1]) for dataset in datasets] == [0, 1, 2]


def test_tasks_are_generated_lazily():
    stream = TinyStream()
    datasets = to_torch_tasks(stream, range(3))
    assert stream.drawn == []
    next(datasets)
    assert set(stream.drawn) == {0}


# Since Python 3.12 forking a process with threads warns, and PyTorch forks its workers by default; it also
# advises against more workers than processors.
forks = pytest.mark.filterwarnings(
    "ignore:.*multi-threaded.*fork:DeprecationWarning", "ignore:This DataLoader will create:UserWarning"
)


@forks
@pytest.mark.parametrize("workers", [0, 3])
def test_each_image_occurs_once_for_any_number_of_workers(workers):
    stream = TinyStream()
    loader = DataLoader(to_torch_iterable(stream), batch_size=4, num_workers=workers)
    first = torch.cat([images for images, _ in loader])
    assert counted(first) == expected(stream, range(4))
    assert torch.equal(first, torch.cat([images for images, _ in loader]))


@forks
def test_batch_order_does_not_depend_on_workers():
    dataset = to_torch_iterable(TinyStream(), batch_size=4, epochs=2, fields=ALL_FIELDS)
    alone = list(DataLoader(dataset, batch_size=None))
    together = list(DataLoader(dataset, batch_size=None, num_workers=3))
    assert [len(batch[0]) for batch in alone] == [4, 2] * 2 * 4
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@forks
def test_persistent_workers_restart_each_pass():
    dataset = to_torch_iterable(TinyStream(), batch_size=4)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    first, second = (torch.cat([images for images, _ in loader]) for _ in range(2))
    assert torch.equal(first, second)


def test_epochs_are_shuffled_differently_within_tasks():
    items = list(to_torch_iterable(TinyStream(), epochs=3, fields=("image", "task")))
    assert [int(task) for _, task in items] == [k for k in range(4) for _ in range(18)]
    passes = [torch.stack([image for image, _ in items[i : i + 6]]) for i in (0, 6, 12)]
    assert counted(passes[0]) == counted(passes[1]) == counted(passes[2])
    assert not torch.equal(passes[0], passes[1])
    assert not torch.equal(passes[1], passes[2])


def test_ordered_task_is_not_shuffled():
    stream = TinyStream()
    assert stream.task(1).ordered
    shuffled = [image for image, _ in to_torch_iterable(stream, [0])]
    kept = [image for image, _ in to_torch_iterable(stream, [1])]
    plain = [image for image, _ in to_torch_iterable(stream, [0], shuffle_seed=None)]
    in_order = [to_torch(stream, [k])[i][0] for k in (0, 1) for i in range(6)]
    assert torch.equal(torch.stack(plain + kept), torch.stack(in_order))
    assert not torch.equal(torch.stack(shuffled), torch.stack(plain))


def test_infinite_stream():
    stream = TinyStream(n_tasks=None)
    labels = []
    for (label,) in to_torch_iterable(stream, fields=("label",)):
        labels.append(int(label))
        if label > 20:
            break
    assert set(labels) >= set(range(20))
    assert max(stream.drawn) == max(labels) // 2


def test_iterations_are_independent():
    dataset = to_torch_iterable(TinyStream(), fields=("label",))
    one, other = iter(dataset), iter(dataset)
    assert [int(next(one)[0]) for _ in range(9)] == [int(next(other)[0]) for _ in range(9)]


def test_empty_split():
    stream = TinyStream(held_out=False)
    assert len(to_torch(stream, split="held_out")) == 0
    assert list(to_torch_iterable(stream, split="held_out", batch_size=4)) == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tasks": [9]}, "no task 9"),
        ({"tasks": []}, "no tasks are given"),
        ({"split": "trian"}, "unknown split 'trian'; did you mean 'train'"),
        ({"fields": ()}, "give at least one of image, label, factors, task"),
        ({"fields": ["images"]}, "unknown field 'images'; did you mean 'image'"),
    ],
)
def test_invalid_arguments_are_refused(settings, sentence):
    for make in (to_torch, to_torch_tasks, to_torch_iterable):
        with pytest.raises(BadInput, match=sentence):
            make(TinyStream(), **settings)


@pytest.mark.parametrize("settings", [{"batch_size": 0}, {"epochs": 0}, {"epochs": -2}])
def test_nonpositive_sizes_are_refused(settings):
    with pytest.raises(BadInput, match="it must be 1 or more"):
        to_torch_iterable(TinyStream(), **settings)


def test_unknown_factors_and_infinite_map_datasets_are_refused():
    with pytest.raises(BadInput, match="unknown; remove 'factors'"):
        to_torch(TinyStream(factors=False), fields=("factors",))
    with pytest.raises(BadInput, match="is infinite; choose tasks"):
        to_torch(TinyStream(n_tasks=None))
