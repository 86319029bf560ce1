"""Streams of a user's own images, and what is said about images that cannot be used."""

import re

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import IterableDataset, TensorDataset

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams import from_arrays, from_csv, from_folder, from_huggingface, from_torch
from tests.golden.datasets import make_arrays, write_csv, write_huggingface

SCENARIOS = [
    {"scenario": "class-incremental"},
    {"scenario": "domain-incremental"},
    {"scenario": "task-incremental"},
    {"scenario": "nc"},
    {"scenario": "ni", "n_sessions": 3},
    {"scenario": "nic", "n_sessions": 3},
    {"boundaries": "blurry"},
    {"boundaries": "gradual"},
    {"boundaries": "recurring"},
]
IMAGES, LABELS = make_arrays("train", 16, 3)
TEST_IMAGES, TEST_LABELS = make_arrays("test", 16, 3)


def pixels(images):
    return sorted(image.tobytes() for image in images)


def all_images(stream, *parts):
    return pixels([image for task in stream for part in parts for image in task.split(part).images])


def test_images_come_out_exactly_and_test_images_stay_test_images():
    stream = from_arrays(IMAGES, LABELS, test_images=TEST_IMAGES, test_labels=TEST_LABELS)
    assert (stream.id, stream.n_tasks, stream.image_shape) == ("arrays/class-incremental-v1", 5, (16, 16, 3))
    assert all_images(stream, "train", "val") == pixels(IMAGES)
    assert all_images(stream, "test") == pixels(TEST_IMAGES)
    task = stream.task(2)
    for image, label in zip(task.train.images, task.train.labels, strict=True):
        assert any((image == each).all() for each in IMAGES[label == LABELS])


@pytest.mark.parametrize("shape", [(9, 16), (16, 9), (15, 8)])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_images_that_are_not_square_are_centered_and_not_resampled(shape, channels):
    images = np.random.default_rng(0).integers(1, 256, (6, *shape, *channels), dtype=np.uint8)
    stream = from_arrays(images, [0, 0, 0, 1, 1, 1])
    side = max(shape)
    top, left = (side - shape[0]) // 2, (side - shape[1]) // 2
    window = (slice(top, top + shape[0]), slice(left, left + shape[1]))
    shown = [image for part in ("train", "test") for image in stream.task(0).split(part).images]
    assert shown[0].shape == (side, side, *channels)
    assert pixels([image[window] for image in shown]) == pixels(images)
    assert all(image.sum() == image[window].astype(int).sum() for image in shown)


def test_equal_images_in_other_forms_are_the_same_stream():
    floats, first = IMAGES / 255, np.moveaxis(IMAGES, -1, 1)
    forms = [IMAGES, floats, floats.astype(np.float32), first, list(IMAGES), torch.tensor(IMAGES)]
    assert len({from_arrays(images, LABELS).spec.content for images in forms}) == 1
    assert from_arrays(IMAGES, LABELS, names=list("abcdefghij")).spec != from_arrays(IMAGES, LABELS).spec


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: next(reversed(each.values())))
def test_every_scenario(scenario):
    stream = from_arrays(IMAGES, LABELS, split=(4, 1, 1), **scenario)
    again = streams.from_json(stream.spec.to_json()).build()
    assert again.fingerprint() == stream.fingerprint()
    assert len(stream.task(0).train)


def test_size_colours_and_names():
    stream = from_arrays(IMAGES, LABELS, image_size=32, rgb=False, names=[f"kind {i}" for i in range(10)])
    assert stream.image_shape == (32, 32)
    assert stream.source.class_name(3) == "kind 3"
    assert from_arrays(IMAGES[..., 0], LABELS, rgb=True).image_shape == (16, 16, 3)
    gray = from_arrays(IMAGES[:, :8, :8, 0], LABELS)
    assert gray.image_shape == (8, 8)
    assert all_images(gray, "train", "val", "test") == pixels(IMAGES[:, :8, :8, 0])


def test_one_image_per_class_in_poses():
    stream = from_arrays(IMAGES[:4], LABELS[:4], n_poses=20, split=(14, 2, 4))
    assert len(stream.task(0).train) == 28


INVALID = {
    "labels are missing; give one whole number per image": (IMAGES, None),
    "labels have the shape (59,), but there are 60 images; give one label per image": (IMAGES, LABELS[1:]),
    "labels contain -1; labels must not be negative": (IMAGES, LABELS - 1),
    "labels are of the type float64, such as 0.5; give whole numbers": (IMAGES, LABELS + 0.5),
    "labels are of the type <U1, such as 'a'; give whole numbers from 0": (IMAGES[:2], ["a", "b"]),
    "labels are of the type object, such as 'a'; give whole": (IMAGES[:2], np.array(["a", "b"], object)),
    "a list is not an array (setting an array element": ([[[1, 2], [3]]], [0]),
    "images have different sizes, such as (8, 8) and (9, 9)": ([np.ones((n, n)) for n in (8, 9)], [0, 1]),
    "images[3] contains NaN or infinity": (np.where(np.arange(60) == 3, np.nan, 0.5)[:, None, None], LABELS),
    "images have values from 0 to 256; integers must be in 0..255": (IMAGES + (IMAGES == 255) * 1, LABELS),
    "images have values from -1.0 to 1.0; integers": (IMAGES / 127.5 - 1, LABELS),
    "images have the shape (60, 16) and type uint8; give numbers (n, H, W)": (IMAGES[:, 0, :, 0], LABELS),
    "images have the shape (60, 16, 16, 2); give (n, H, W)": (IMAGES[..., :2], LABELS),
    "images are empty, with the shape (0, 16, 16, 3)": (IMAGES[:0], LABELS[:0]),
    "label 1 has no images for training; add some, or number the classes": (IMAGES, LABELS * 2),
    "image_size is 4; it must be at least 8": (IMAGES[:, :4, :4], LABELS),
    "class '1' has only one image, so there is none for testing": (IMAGES[[0, 10, 1]], [0, 0, 1]),
}  # fmt: skip


@pytest.mark.parametrize(("message", "given"), INVALID.items(), ids=list(INVALID))
def test_unusable_arrays_are_rejected(message, given):
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        from_arrays(*given)
    assert "\n" not in str(error.value)


INVALID_SETTINGS = {
    "class 'x' (label 10) has no images for training": {"names": [*"abcdefghij", "x"]},
    "there are 2 names, but a label is 9; give a name for each label": {"names": ["a", "b"]},
    "names contain a name twice": {"names": ["a"] * 10},
    "test_labels are missing": {"test_images": TEST_IMAGES},
    "test_images are missing": {"test_labels": TEST_LABELS},
    "label 9 has no test images; add some": {"test_images": TEST_IMAGES[:9], "test_labels": TEST_LABELS[:9]},
    "test_images have the shape (8, 8, 3), but images have (16, 16, 3)": {
        "test_images": TEST_IMAGES[:, :8, :8],
        "test_labels": TEST_LABELS,
    },
    "n_tasks is 6, but arrays/class-incremental-v1 has only 5": {"n_tasks": 6},
    "there are 10 classes, too few for a task of 11": {"classes_per_task": 11},
    "unknown arrays setting 'classes_per_tusk'": {"classes_per_tusk": 2},
    "unknown variant 'mowing'; did you mean 'moving'?": {"variant": "mowing"},
    "drawn_size is 20, more than image_size 16": {"drawn_size": 20},
}


@pytest.mark.parametrize(("message", "given"), INVALID_SETTINGS.items(), ids=list(INVALID_SETTINGS))
def test_unusable_settings_are_rejected(message, given):
    with pytest.raises(BadInput, match=re.escape(message)):
        from_arrays(IMAGES, LABELS, **given)


# ----------------------------------------------------------------------------------------- PyTorch


def test_torch_datasets_give_the_stream_of_their_arrays():
    given = {"test_images": TEST_IMAGES, "test_labels": TEST_LABELS}
    expected = from_arrays(IMAGES, LABELS, **given).spec
    tensors, test = (
        TensorDataset(torch.tensor(np.moveaxis(images, -1, 1) / 255), torch.tensor(labels))
        for images, labels in ((IMAGES, LABELS), (TEST_IMAGES, TEST_LABELS))
    )
    pillow = [(Image.fromarray(image), int(label)) for image, label in zip(IMAGES, LABELS, strict=True)]
    assert from_torch(tensors, test).spec == from_torch(pillow, test).spec == expected


class Named(list):
    classes = ("zero", "one")


def test_torch_dataset_with_names_and_different_images():
    images = [Image.new("L", (20, 10), 99), Image.new("RGB", (10, 20), "red"), Image.new("P", (16, 16))] * 2
    pairs = Named((image, i // 3) for i, image in enumerate(images))
    with pytest.raises(BadInput, match="images have different sizes"):
        from_torch(pairs)
    stream = from_torch(pairs, image_size=24)
    assert (stream.image_shape, stream.source.class_name(1)) == ((24, 24, 3), "one")


class Stream(IterableDataset):
    def __iter__(self):
        yield from ()


INVALID_DATASETS = {
    "item 0 of the dataset is a ndarray; it must be a pair (image, label)": IMAGES,
    "item 0 of the dataset is a tuple; it must be a pair": [(IMAGES[0],)],
    "item 1 of the dataset has the label 'cat'; it must be a whole number": [(0, 0), (0, "cat")],
    "the dataset is a Stream without a length; give a map-style dataset": Stream(),
    "images are empty": [],
}  # fmt: skip


@pytest.mark.parametrize(("message", "dataset"), INVALID_DATASETS.items(), ids=list(INVALID_DATASETS))
def test_unusable_torch_datasets_are_rejected(message, dataset):
    with pytest.raises(BadInput, match=re.escape(message)):
        from_torch(dataset)


# ------------------------------------------------------------------------------------ Hugging Face


def test_huggingface_path_and_dataset_in_memory_have_the_same_images(tmp_path):
    datasets = pytest.importorskip("datasets")
    path = write_huggingface(tmp_path)
    from_path = from_huggingface(path, image_size=20)
    in_memory = from_huggingface(datasets.load_from_disk(path))
    assert from_path.spec.data == path
    assert from_path.source.class_name(1) == in_memory.source.class_name(1) == "kind 1"
    for a, b in zip(from_path, in_memory, strict=True):
        assert (a.train, a.val, a.test) == (b.train, b.val, b.test)
    apart = datasets.load_from_disk(path)
    assert from_huggingface(apart["train"], test=apart["test"]).spec == in_memory.spec


def test_huggingface_test_labels_must_be_known():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=["cat", "dog"]))
    rows = {"image": [Image.new("L", (8, 8))] * 4, "label": [0, 1] * 2}
    train = datasets.Dataset.from_dict(rows, features)
    test = datasets.Dataset.from_dict({**rows, "label": ["cat", "cow"] * 2})
    test = test.cast_column("image", datasets.Image())
    with pytest.raises(BadInput, match="unknown label of test images 'cow'; known are 'cat', 'dog'"):
        from_huggingface(train, test)


# -------------------------------------------------------------------------------- folders and tables


def test_folder_and_table_of_the_same_files(tmp_path):
    path = write_csv(tmp_path)
    images, labels = make_arrays("train", 20, 3)
    stream = from_csv(path, image_size=20)
    assert stream.image_shape == (20, 20, 3)
    assert all_images(stream, "train", "val") == pixels(images)
    task = from_folder(tmp_path, image_size=20, n_poses=None, classes_per_task=1, split=(60, 10, 10)).task(0)
    assert len(task.train) == 60, "a folder is a class"
    assert len(labels) == 60
