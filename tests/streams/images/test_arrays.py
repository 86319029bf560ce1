import os
import pickle

import numpy as np
import pytest

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams import from_arrays
from everlearn.streams.images import arrays
from everlearn.streams.images.arrays import add_content_folder, read_arrays, save_content
from tests.golden.datasets import make_arrays, write_npz

IMAGES, LABELS = make_arrays("train", 16, 3)


@pytest.fixture
def new_process(monkeypatch):
    """Forgets all arrays, as a new process would."""

    def forget():
        monkeypatch.setattr(arrays, "_ARRAYS", {})
        monkeypatch.setattr(arrays, "_FOLDERS", [])

    forget()
    return forget


def test_spec_is_small_and_finds_its_arrays_in_a_folder(tmp_path, new_process):
    test_images, test_labels = make_arrays("test", 16, 3)
    stream = from_arrays(IMAGES, LABELS, test_images=test_images, test_labels=test_labels, names="abcdefghij")
    text = stream.spec.to_json()
    assert len(text) < 1000
    save_content(stream.spec, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"data-{stream.spec.content[:12]}.npz"]
    new_process()
    with pytest.raises(BadInput, match=r"are not in memory; pass the same arrays .* or open the record"):
        streams.from_json(text).build()
    add_content_folder(tmp_path)
    again = streams.from_json(text).build()
    assert again.fingerprint() == stream.fingerprint()
    assert again.source.class_name(2) == "c"
    named = streams.arrays(data=next(tmp_path.iterdir()))
    assert named.fingerprint() == stream.fingerprint(), "the file is one that a user can read"


def test_content_is_verified(tmp_path, new_process):
    stream, other = from_arrays(IMAGES, LABELS), from_arrays(255 - IMAGES, LABELS)
    save_content(other.spec, tmp_path)
    next(tmp_path.iterdir()).rename(tmp_path / f"data-{stream.spec.content[:12]}.npz")
    new_process()
    add_content_folder(tmp_path)
    with pytest.raises(
        BadInput, match=r"does not contain the arrays of the stream, its content is .*restore"
    ):
        stream.spec.build()


def test_saving_twice_writes_once_and_other_streams_have_no_content(tmp_path):
    spec = from_arrays(IMAGES, LABELS).spec
    save_content(spec, tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.stat().st_ino
    save_content(spec, tmp_path)
    save_content(streams.SpriteSettings(), tmp_path)
    assert [each.stat().st_ino for each in tmp_path.iterdir()] == [before]


def test_file_from_the_command_line_settings(tmp_path, monkeypatch):
    path = write_npz(tmp_path)
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    stream = streams.build({"stream": "arrays", "data": "images.npz"})
    assert stream.spec.to_mapping()["data"] == "images.npz"
    assert stream.fingerprint() == streams.arrays(data=path).fingerprint()
    os.utime(path, (1, 1))
    assert streams.arrays(data=path).fingerprint() == stream.fingerprint()


def test_a_changed_file_is_read_again(tmp_path):
    path = write_npz(tmp_path)
    before = streams.arrays(data=path).fingerprint()
    np.savez(path, images=255 - IMAGES, labels=LABELS)
    assert streams.arrays(data=path).fingerprint() != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not an .npz file of arrays"),
        (b"PK\x03\x04damaged", "is not an .npz file of arrays"),
        (pickle.dumps([1]), "is not an .npz file of arrays"),
        ({"images": IMAGES}, "lacks the array 'labels'; it has images"),
        ({"images": IMAGES, "labels": np.array([{}], object)}, "is not an .npz file of arrays"),
    ],
)
def test_unusable_files_are_rejected(content, message, tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, **content) if isinstance(content, dict) else path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        read_arrays(path)


def test_file_or_content_is_required(tmp_path):
    with pytest.raises(BadInput, match="neither data nor content is given"):
        streams.arrays()
    with pytest.raises(BadInput, match="both data and content are given"):
        streams.arrays(data=tmp_path, content="0" * 64)
    with pytest.raises(BadInput, match=r"the \.npz file is not at .*gone\.npz'; correct data="):
        streams.arrays(data=tmp_path / "gone.npz")


def test_transparent_pixels_show_the_background():
    images = np.zeros((4, 8, 8, 4), np.uint8)
    images[..., 0], images[:, :4, :, 3] = 200, 255
    image = from_arrays(images, [0, 0, 1, 1], background=50).task(0).train.images[0]
    assert (image[:4] == [200, 0, 0]).all()
    assert (image[4:] == 50).all()
