import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.streams.images.mnist import open_fashion, open_mnist

from .files import write_idx, write_mnist


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_drawings_are_those_of_the_files(tmp_path, suffix):
    written = write_mnist(tmp_path, suffix=suffix)
    digits = open_mnist(tmp_path)
    assert digits.n_classes == 10
    assert (digits.n_drawings(3), digits.n_test(3)) == (5, 2)
    drawings = digits.drawings(np.array([3, 3, 0]), np.array([1, 4, 0]))
    np.testing.assert_array_equal(drawings[0][..., 0], written["train"][0][13])
    np.testing.assert_array_equal(drawings[1][..., 0], written["t10k"][0][13])
    np.testing.assert_array_equal(drawings[2][..., 0], written["train"][0][0])


def test_files_are_read_once_and_kept_read_only(tmp_path):
    write_mnist(tmp_path)
    assert open_mnist(tmp_path) is open_mnist(tmp_path)
    assert open_mnist(tmp_path) is open_mnist(tmp_path / "mnist")
    assert open_mnist(tmp_path).nbytes == 50 * 28 * 28
    assert not open_mnist(tmp_path).drawings(np.array([0]), np.array([0])).pixels.flags.writeable


def test_the_layout_of_torchvision_is_found(tmp_path):
    write_mnist(tmp_path, name="FashionMNIST/raw", suffix="")
    assert open_fashion(tmp_path).class_name(9) == "ankle boot"


def test_a_missing_data_set_is_said(tmp_path):
    with pytest.raises(BadInput, match=r"mnist is not in .*; put its four files"):
        open_mnist(tmp_path)


def test_a_missing_file_is_said(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "mnist/t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(BadInput, match="lacks the file 't10k-labels-idx1-ubyte'"):
        open_mnist(tmp_path)


def test_counts_that_disagree_are_said(tmp_path):
    write_mnist(tmp_path)
    write_idx(tmp_path / "mnist/train-labels-idx1-ubyte.gz", np.arange(29, dtype=np.uint8) % 10)
    with pytest.raises(BadInput, match="30 train images but 29 train labels"):
        open_mnist(tmp_path)


@pytest.mark.parametrize("labels", [np.arange(30) % 11, np.arange(30) % 9], ids=["eleven", "nine"])
def test_other_labels_than_ten_are_said(tmp_path, labels):
    write_mnist(tmp_path)
    write_idx(tmp_path / "mnist/train-labels-idx1-ubyte.gz", labels.astype(np.uint8))
    with pytest.raises(BadInput, match=r"train labels .* are not exactly 0 to 9"):
        open_mnist(tmp_path)


def test_two_sizes_are_said(tmp_path):
    write_mnist(tmp_path)
    write_idx(tmp_path / "mnist/t10k-images-idx3-ubyte.gz", np.zeros((20, 14, 14), np.uint8))
    with pytest.raises(BadInput, match=r"\(28, 28\) pixels in train and \(14, 14\) in t10k"):
        open_mnist(tmp_path)


@pytest.mark.parametrize(("open_it", "pixel_mean"), [(open_mnist, 0.1307), (open_fashion, 0.2860)])
def test_the_real_files(real_data, open_it, pixel_mean):
    images = open_it(real_data)
    counts = [images.n_drawings(c) - images.n_test(c) for c in range(10)]
    assert sum(counts) == 60_000
    assert sum(images.n_test(c) for c in range(10)) == 10_000
    drawings = images.drawings(np.array([0]), np.array([0]))
    assert drawings.pixels[: 60_000 * 784].mean() / 255 == pytest.approx(pixel_mean, abs=5e-5)
