import os
import pickle

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import Cache, Gallery
from everlearn.streams.images.folder import open_folder

from .files import png, write_tree

RED, CLEAR = png(Image.new("RGB", (6, 4), "red")), png(Image.new("RGBA", (4, 4), (0, 255, 0, 0)))


def names(gallery):
    return [gallery.class_name(c) for c in range(gallery.n_classes)]


def test_a_sub_folder_is_a_class(tmp_path):
    write_tree(
        tmp_path,
        {
            "dog/2.png": RED,
            "dog/10.PNG": CLEAR,
            "cat/a.png": RED,
            "cat/.b.png": RED,
            "cat/notes.txt": b"",
            ".git/x.png": RED,
        },
    )
    (tmp_path / "empty").mkdir()
    pets = open_folder(tmp_path, drawn_size=8)
    assert names(pets) == ["cat", "dog"]
    assert [pets.n_drawings(c) for c in range(2)] == [1, 2]
    drawings = pets.drawings(np.array([1, 1]), np.array([0, 1]))
    assert drawings.sizes.tolist() == [[4, 4], [4, 6]]
    assert drawings[0].max() == 0  # nothing of a transparent colour is left
    assert drawings[1][0, 0].tolist() == [255, 0, 0, 255]


def test_a_flat_folder_is_one_class_per_image(tmp_path):
    write_tree(tmp_path, {"sun.png": RED, "moon.png": CLEAR, "readme.md": b""})
    assert names(open_folder(tmp_path, drawn_size=8)) == ["moon", "sun"]


def test_images_with_one_stem_stay_apart(tmp_path):
    write_tree(tmp_path, {"sun.png": RED, "sun.gif": CLEAR})
    assert names(open_folder(tmp_path, drawn_size=8)) == ["sun.gif", "sun.png"]


def test_odd_names(tmp_path):
    odd = ["with space", "ünïcödé", "new\nline", "日本", "-dash"]
    write_tree(tmp_path, {f"{name}/a.png": RED for name in odd})
    write_tree(tmp_path, {os.fsdecode(b"caf\xe9/\xff.png"): RED})
    gallery = open_folder(tmp_path, drawn_size=8)
    assert set(names(gallery)) == {*odd, "caf\\xe9"}
    everything = gallery.drawings(np.arange(6), np.zeros(6, np.int64))
    assert len(everything) == 6


def test_large_images_are_averaged_down_before_they_are_kept(tmp_path):
    write_tree(tmp_path, {"a/big.png": png(np.full((600, 300), 90, np.uint8)), "b/small.png": RED})
    gallery = open_folder(tmp_path, drawn_size=10, rgb=False)
    drawings = gallery.drawings(np.array([0, 1]), np.array([0, 0]))
    assert drawings.sizes.tolist() == [[20, 10], [4, 6]]
    assert (drawings[0] == [90, 255]).all()


def test_loose_images_beside_classes_are_refused(tmp_path):
    write_tree(tmp_path, {"cat/a.png": RED, "b.png": RED})
    with pytest.raises(BadInput, match=r"both class folders and loose images \(such as 'b.png'\)"):
        open_folder(tmp_path, drawn_size=8)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no images; put one sub-folder per class"):
        open_folder(tmp_path, drawn_size=8)


def test_nothing_is_decoded_before_it_is_looked_at(tmp_path):
    write_tree(tmp_path, {"a/broken.png": b"nonsense", "b/fine.png": RED})
    gallery = open_folder(tmp_path, drawn_size=8)
    assert len(gallery.drawings(np.array([1]), np.array([0]))) == 1
    with pytest.raises(BadInput, match=r"a/broken\.png is not an image"):
        gallery.drawings(np.array([0]), np.array([0]))


def test_a_file_that_went_away_is_said(tmp_path):
    write_tree(tmp_path, {"a/gone.png": RED})
    gallery = open_folder(tmp_path, drawn_size=8)
    (tmp_path / "a/gone.png").unlink()
    with pytest.raises(BadInput, match=r"gone\.png' cannot be read"):
        gallery.drawings(np.array([0]), np.array([0]))


def test_a_pipe_named_like_a_image_is_passed_over(tmp_path):
    write_tree(tmp_path, {"a/fine.png": RED})
    os.mkfifo(tmp_path / "a/pipe.png")
    assert open_folder(tmp_path, drawn_size=8).n_drawings(0) == 1


def test_what_is_remembered_is_bounded_and_used():
    reads = []

    def read(name):
        reads.append(name)
        return RED

    gallery = Gallery(
        files={"a": ["1", "2", "3"]}, read=read, prepare=lambda pixels: pixels, cache_bytes=2 * 6 * 4 * 4
    )
    look = lambda *numbers: gallery.drawings(np.zeros(len(numbers), np.int64), np.array(numbers))  # noqa: E731
    look(0, 1, 0, 1)
    assert reads == ["1", "2"]
    look(2, 1, 0)
    assert reads == ["1", "2", "3", "1"]


def test_cache_counts_its_bytes_and_travels_empty():
    cache = Cache(limit=100)
    for i in range(30):
        cache.get(str(i), lambda: np.zeros(30, np.uint8))
    assert cache.nbytes == 90
    cache.get("too large", lambda: np.zeros(1000, np.uint8))
    assert cache.nbytes == 0
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.limit, copy.nbytes) == (100, 0)
