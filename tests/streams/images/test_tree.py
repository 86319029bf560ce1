import unicodedata

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.folder import open_folder
from everlearn.streams.images.tree import listed, open_tree

from .files import png, write_tree, write_zip

RED = png(Image.new("RGB", (6, 4), "red"))


def test_listed_is_sorted_and_without_hidden_files(tmp_path):
    composed, decomposed = unicodedata.normalize("NFC", "éa"), unicodedata.normalize("NFD", "éb")
    for name in ("b", "B", "10", "9", ".hidden", decomposed, composed):
        (tmp_path / name).touch()
    assert [entry.name for entry in listed(tmp_path)] == ["10", "9", "B", "b", composed, decomposed]


def test_unreadable_folder(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        listed(tmp_path / "gone")


MEMBERS = {"top/b/2.png": RED, "top/b/10.PNG": RED, "top/a/x.png": RED, "top/a/deep/y.png": RED}
HIDDEN = {"top/.hidden/x.png": RED, "top/a/.z.png": RED, "top/a/notes.txt": b""}


def test_zip_file_is_read_as_the_folder_it_contains(tmp_path):
    write_tree(tmp_path, MEMBERS | HIDDEN)
    write_zip(tmp_path / "zipped/files.zip", MEMBERS | HIDDEN)
    for path in (tmp_path / "top", tmp_path / "zipped/files.zip", tmp_path / "zipped"):
        tree = open_tree(path)
        assert tree.folders() == ["a", "b"]
        assert (tree.images(), tree.images("b"), tree.images("a")) == (
            [],
            ["b/10.PNG", "b/2.png"],
            ["a/x.png"],
        )
        assert tree.read("b/2.png") == RED
    dataset = open_folder(tmp_path / "zipped", drawn_size=8)
    assert [dataset.n_images(c) for c in range(2)] == [1, 2]
    assert dataset.load(np.array([1]), np.array([1]))[0][0, 0].tolist() == [255, 0, 0, 255]


def test_damaged_zip_file(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK")
    with pytest.raises(BadInput, match="is not a complete zip file"):
        open_folder(tmp_path / "x.zip", drawn_size=8)
