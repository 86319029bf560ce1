import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams.images.mnist import open_mnist, read_idx

from .files import idx_bytes, write_idx, write_mnist


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_images_are_those_of_the_files(tmp_path, suffix):
    written = write_mnist(tmp_path, suffix=suffix)
    digits = open_mnist(tmp_path)
    assert digits.n_classes == 10
    assert (digits.n_images(3), digits.n_test(3)) == (5, 2)
    images = digits.load(np.array([3, 3, 0]), np.array([1, 4, 0]))
    np.testing.assert_array_equal(images[0][..., 0], written["train"][0][13])
    np.testing.assert_array_equal(images[1][..., 0], written["t10k"][0][13])
    np.testing.assert_array_equal(images[2][..., 0], written["train"][0][0])


def test_files_are_read_once(tmp_path):
    write_mnist(tmp_path)
    assert open_mnist(tmp_path) is open_mnist(tmp_path)
    assert open_mnist(tmp_path) is open_mnist(tmp_path / "mnist")
    assert not open_mnist(tmp_path).load(np.array([0]), np.array([0])).pixels.flags.writeable


def test_torchvision_layout(tmp_path):
    write_mnist(tmp_path, name="FashionMNIST/raw", suffix="")
    assert open_mnist(tmp_path, "fashion-mnist").class_name(9) == "ankle boot"


def test_missing_dataset(tmp_path):
    with pytest.raises(BadInput, match=r"mnist is not in .*; copy its four files"):
        open_mnist(tmp_path)


def test_dataset_without_a_file(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "mnist/t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(BadInput, match="lacks the file 't10k-labels-idx1-ubyte'"):
        open_mnist(tmp_path)


def test_different_numbers_of_images_and_labels(tmp_path):
    write_mnist(tmp_path)
    write_idx(tmp_path / "mnist/train-labels-idx1-ubyte.gz", np.arange(29, dtype=np.uint8) % 10)
    with pytest.raises(BadInput, match="30 train images but 29 train labels"):
        open_mnist(tmp_path)


@pytest.mark.parametrize("labels", [np.arange(30) % 11, np.arange(30) % 9], ids=["eleven", "nine"])
def test_invalid_labels(tmp_path, labels):
    write_mnist(tmp_path)
    write_idx(tmp_path / "mnist/train-labels-idx1-ubyte.gz", labels.astype(np.uint8))
    with pytest.raises(BadInput, match=r"train labels .* are not exactly 0 to 9"):
        open_mnist(tmp_path)


def test_different_image_sizes(tmp_path):
    write_mnist(tmp_path)
    write_idx(tmp_path / "mnist/t10k-images-idx3-ubyte.gz", np.zeros((20, 14, 14), np.uint8))
    with pytest.raises(BadInput, match=r"\(28, 28\) pixels in train and \(14, 14\) in t10k"):
        open_mnist(tmp_path)


@pytest.mark.parametrize(("name", "pixel_mean"), [("mnist", 0.1307), ("fashion-mnist", 0.2860)])
def test_real_files(real_data, name, pixel_mean):
    dataset = open_mnist(real_data, name)
    counts = [dataset.n_images(c) - dataset.n_test(c) for c in range(10)]
    assert sum(counts) == 60_000
    assert sum(dataset.n_test(c) for c in range(10)) == 10_000
    images = dataset.load(np.array([0]), np.array([0]))
    assert images.pixels[: 60_000 * 784].mean() / 255 == pytest.approx(pixel_mean, abs=5e-5)


IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("array", [IMAGES, IMAGES.ravel()], ids=["images", "labels"])
def test_read_idx(tmp_path, suffix, array):
    path = tmp_path / f"file{suffix}"
    write_idx(path, array)
    result = read_idx(path, n_axes=array.ndim)
    np.testing.assert_array_equal(result, array)
    assert not result.flags.writeable


WHOLE = idx_bytes(IMAGES)
DAMAGED = [
    b"",
    WHOLE[:9],
    b"\x00\x00\x09\x03" + WHOLE[4:],
    idx_bytes(IMAGES.ravel()),
    WHOLE[:-1],
    WHOLE + b"\x00",
    bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**31, 2**31, 2**31),
]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_damaged_idx_is_rejected(tmp_path, suffix):
    path = tmp_path / f"train-images{suffix}"
    for content in DAMAGED:
        path.write_bytes(gzip.compress(content) if suffix else content)
        with pytest.raises(BadInput, match="train-images"):
            read_idx(path, n_axes=3)


def test_truncated_gzip(tmp_path):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(WHOLE)[:-12])
    with pytest.raises(BadInput, match=r"cannot be read .* replace it with an undamaged copy"):
        read_idx(path, n_axes=3)


def test_missing_file(tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        read_idx(tmp_path / "images", n_axes=3)


@settings(max_examples=50)
@given(st.binary(max_size=64))
def test_arbitrary_bytes_are_rejected(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("idx") / "file.gz"
    path.write_bytes(content)
    with pytest.raises(BadInput):
        read_idx(path, n_axes=1)
