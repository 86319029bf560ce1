import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.streams.images import tree
from everlearn.streams.images.omniglot import open_omniglot

from .files import omniglot_members, write_tree, write_zip

ALL = np.arange(4), np.zeros(4, np.int64)


@pytest.mark.parametrize("folder", ["omniglot", "."])
@pytest.mark.parametrize("write", ["zip", "tree"])
def test_zip_files_and_folders(tmp_path, write, folder):
    members = omniglot_members("images_background")
    if write == "zip":
        write_zip(tmp_path / folder / "images_background.zip", members)
    else:
        write_tree(tmp_path / folder, members)
    dataset = open_omniglot(tmp_path)
    names = [dataset.class_name(c) for c in range(dataset.n_classes)]
    assert names == ["Balinese/character01", "Balinese/character02", "Greek/character01", "Greek/character02"]
    assert (dataset.n_images(0), dataset.n_test(0)) == (20, 0)
    image = dataset.load(*ALL)[2][..., 0]
    assert image.shape == (105, 105)
    assert set(np.unique(image)) == {0, 255}
    assert (image == 255).sum() == 100  # strokes are white


def test_character_in_several_sets_is_taken_from_the_first(tmp_path):
    whole, small = (
        omniglot_members("images_background"),
        omniglot_members("images_background_small1", ("Greek", "Latin")),
    )
    write_zip(tmp_path / "images_background.zip", whole)
    both = open_omniglot(tmp_path)
    before = both.load(*ALL)
    write_zip(tmp_path / "images_background_small1.zip", small)
    after = open_omniglot(tmp_path)
    assert [after.class_name(c) for c in range(after.n_classes)][-2:] == [
        "Latin/character01",
        "Latin/character02",
    ]
    np.testing.assert_array_equal(after.load(*ALL).pixels, before.pixels)


def test_other_files_are_ignored(tmp_path):
    members = omniglot_members("images_background") | {
        "images_background/Greek/notes.txt": b"x",
        "__MACOSX/images_background/Greek/character01.png": b"x",
        "images_background/Greek/character01/readme.txt": b"x",
        "../images_background/a/b.png": b"x",
    }
    write_zip(tmp_path / "images_background.zip", members)
    assert open_omniglot(tmp_path).n_classes == 4
    assert open_omniglot(tmp_path).n_images(2) == 20


def test_missing_dataset(tmp_path):
    with pytest.raises(BadInput, match=r"omniglot is not in .*; copy images_background\.zip"):
        open_omniglot(tmp_path)


def test_zip_without_images(tmp_path):
    write_zip(tmp_path / "images_background.zip", {"a.txt": b""})
    with pytest.raises(BadInput, match="contain no alphabet/character"):
        open_omniglot(tmp_path)


@pytest.mark.parametrize("keep", [0, 10, -20])
def test_truncated_zip(tmp_path, keep):
    path = tmp_path / "images_background.zip"
    write_zip(path, omniglot_members("images_background"))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadInput, match="not a complete zip file"):
        open_omniglot(tmp_path)


def test_damaged_member(tmp_path):
    path = tmp_path / "images_background.zip"
    members = omniglot_members("images_background")
    write_zip(path, members)
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    damaged = open_omniglot(tmp_path)
    rows = np.repeat(np.arange(4), 20), np.tile(np.arange(20), 4)
    with pytest.raises(BadInput, match=r"character01/.*png' in .* is damaged"):
        damaged.load(*rows)


def test_oversized_member(tmp_path, monkeypatch):
    write_zip(tmp_path / "images_background.zip", omniglot_members("images_background"))
    monkeypatch.setattr(tree, "MAX_FILE_BYTES", 10)
    with pytest.raises(BadInput, match=r"claims .* bytes"):
        open_omniglot(tmp_path).load(*ALL)


def test_real_files(real_data):
    dataset = open_omniglot(real_data)
    assert dataset.n_classes == 242
    assert {dataset.n_images(c) for c in range(242)} == {20}
    assert dataset.class_name(0) == "Balinese/character01"
    assert dataset.load(np.array([241]), np.array([19])).sizes.tolist() == [[105, 105]]
