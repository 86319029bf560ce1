import pickle
import struct

import numpy as np
import pytest

from everlearn import streams
from everlearn.errors import BadInput
from tests.golden.datasets import make_arrays, write_cifar10, write_cifar100, write_png

from .files import write_zip


def old_pickle(content):
    """A dictionary of lists of small numbers and byte arrays, as Python 2 wrote the published files."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    def value(item):
        if isinstance(item, list):
            return b"](" + b"".join(b"K" + bytes([number]) for number in item) + b"e"
        raw = item.tobytes()
        shape = b"".join(b"J" + struct.pack("<i", n) for n in item.shape) + b"\x86"
        dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|") + b"NNN"
        dtype += b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        start = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
        return start + b"(K\x01" + shape + dtype + b"\x89T" + struct.pack("<i", len(raw)) + raw + b"tb"

    items = b"".join(text(key) + value(item) for key, item in content.items())
    return b"\x80\x02}(" + items + b"u."


@pytest.mark.parametrize(
    ("write", "kind"), [(write_cifar10, "split_cifar10"), (write_cifar100, "split_cifar100")]
)
def test_images_come_out_exactly(write, kind, tmp_path):
    stream = getattr(streams, kind)(data=write(tmp_path), classes_per_task=10)
    images, labels = make_arrays("train", 32, 3)
    task = stream.task(0)
    assert (len(task.train), len(task.val), len(task.test)) == (60, 0, 20)
    for label in range(10):
        shown = sorted(image.tobytes() for image in task.train.images[task.train.labels == label])
        assert shown == sorted(image.tobytes() for image in images[labels == label])
    assert stream.source.class_name(3) == "kind 3"


def test_published_format_of_python_2(tmp_path):
    write_cifar100(tmp_path)
    expected = streams.split_cifar100(data=tmp_path, classes_per_task=10).fingerprint()
    images, labels = make_arrays("train", 32, 3)
    flat = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(60, -1)
    content = old_pickle({b"fine_labels": labels.tolist(), b"data": flat})
    copy = tmp_path / "copy/cifar-100-python"
    copy.mkdir(parents=True)
    (copy / "train").write_bytes(content)
    for name in ("test", "meta"):
        (tmp_path / "cifar-100-python" / name).rename(copy / name)
    assert streams.split_cifar100(data=tmp_path / "copy", classes_per_task=10).fingerprint() == expected


def test_folders_of_images_zipped_or_not(tmp_path):
    write_cifar100(tmp_path / "pickles")
    for part in ("train", "test"):
        for i, (image, label) in enumerate(zip(*make_arrays(part, 32, 3), strict=True)):
            write_png(tmp_path / "cifar100" / part / f"kind {label}" / f"{i:03}.png", image)
    stream = streams.split_cifar100(data=tmp_path, classes_per_task=10)
    assert (
        stream.fingerprint()
        == streams.split_cifar100(data=tmp_path / "pickles", classes_per_task=10).fingerprint()
    )
    files = [path for path in (tmp_path / "cifar100").rglob("*") if path.is_file()]
    members = {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}
    write_zip(tmp_path / "zipped/cifar100/cifar100.zip", members)
    assert (
        stream.fingerprint()
        == streams.split_cifar100(data=tmp_path / "zipped", classes_per_task=10).fingerprint()
    )


class Harmful:
    def __reduce__(self):
        return print, ("harm",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Harmful(), "it contains builtins.print, which is not an array"),
        ({b"data": Harmful()}, "it contains builtins.print"),
        ([1], "it contains no dictionary"),
        ({b"data": np.zeros((2, 3072), np.uint8)}, "it has no images and fine_labels"),
        ({b"data": np.zeros((2, 30), np.uint8), b"fine_labels": [0, 1]}, "it has no images and fine_labels"),
        (
            {b"data": np.zeros((2, 3072)), b"fine_labels": [0, 1]},
            "it contains an array of .f8., not of bytes",
        ),
        (
            {b"data": np.zeros((2, 3072), np.uint8), b"fine_labels": [0, 11]},
            "its labels are not exactly 0 to 9",
        ),
    ],
)
def test_other_pickles_are_refused_and_run_nothing(content, message, tmp_path, capsys):
    write_cifar100(tmp_path)
    (tmp_path / "cifar-100-python/train").write_bytes(pickle.dumps(content, protocol=4))
    with pytest.raises(BadInput, match=rf"train' is not a file of CIFAR \({message}.*replace it"):
        streams.split_cifar100(data=tmp_path)
    assert capsys.readouterr().out == ""


def test_damaged_and_missing_files(tmp_path):
    write_cifar100(tmp_path)
    path = tmp_path / "cifar-100-python/test"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadInput, match="test' is not a file of CIFAR"):
        streams.split_cifar100(data=tmp_path)
    with pytest.raises(
        BadInput, match=r"cifar10 is not in .*; copy the files .* `everlearn data fetch cifar10`"
    ):
        streams.split_cifar10(data=tmp_path)


def test_real_images(real_data):
    if not (real_data / "cifar100").is_dir():
        pytest.skip("EVERLEARN_DATA has no folder cifar100")
    stream = streams.split_cifar100(class_order="icarl", data=real_data)
    assert len(stream) == 10
    assert [stream.source.class_name(c) for c in range(3)] == ["road", "palm_tree", "snake"]
    assert stream.task(9).test.images.shape[1:] == (32, 32, 3)
