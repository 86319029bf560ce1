import pickle

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.streams.images import omniglot
from everlearn.streams.images.omniglot import open_omniglot

from .files import omniglot_members, write_tree, write_zip

ALL = np.arange(4), np.zeros(4, np.int64)


@pytest.mark.parametrize("place", ["omniglot", "."])
@pytest.mark.parametrize("write", ["zip", "tree"])
def test_zipped_and_unpacked_are_alike(tmp_path, write, place):
    members = omniglot_members("images_background")
    if write == "zip":
        write_zip(tmp_path / place / "images_background.zip", members)
    else:
        write_tree(tmp_path / place, members)
    found = open_omniglot(tmp_path)
    names = [found.class_name(c) for c in range(found.n_classes)]
    assert names == ["Balinese/character01", "Balinese/character02", "Greek/character01", "Greek/character02"]
    assert (found.n_drawings(0), found.n_test(0)) == (20, 0)
    drawing = found.drawings(*ALL)[2][..., 0]
    assert drawing.shape == (105, 105)
    assert set(np.unique(drawing)) == {0, 255}
    assert (drawing == 255).sum() == 100  # ink, not paper


def test_a_character_in_several_sets_counts_once_from_the_first(tmp_path):
    whole, small = (
        omniglot_members("images_background"),
        omniglot_members("images_background_small1", ("Greek", "Latin")),
    )
    write_zip(tmp_path / "images_background.zip", whole)
    both = open_omniglot(tmp_path)
    before = both.drawings(*ALL)
    write_zip(tmp_path / "images_background_small1.zip", small)
    after = open_omniglot(tmp_path)
    assert [after.class_name(c) for c in range(after.n_classes)][-2:] == [
        "Latin/character01",
        "Latin/character02",
    ]
    np.testing.assert_array_equal(after.drawings(*ALL).pixels, before.pixels)


def test_things_beside_the_drawings_are_passed_over(tmp_path):
    members = omniglot_members("images_background") | {
        "images_background/Greek/notes.txt": b"x",
        "__MACOSX/images_background/Greek/character01.png": b"x",
        "images_background/Greek/character01/readme.txt": b"x",
        "../images_background/a/b.png": b"x",
    }
    write_zip(tmp_path / "images_background.zip", members)
    assert open_omniglot(tmp_path).n_classes == 4
    assert open_omniglot(tmp_path).n_drawings(2) == 20


def test_missing_data_is_said(tmp_path):
    with pytest.raises(BadInput, match=r"omniglot is not in .*; put images_background\.zip"):
        open_omniglot(tmp_path)


def test_a_zip_without_drawings_is_said(tmp_path):
    write_zip(tmp_path / "images_background.zip", {"a.txt": b""})
    with pytest.raises(BadInput, match=r"hold no alphabet/character/drawing\.png"):
        open_omniglot(tmp_path)


@pytest.mark.parametrize("keep", [0, 10, -20])
def test_a_truncated_zip_is_said(tmp_path, keep):
    path = tmp_path / "images_background.zip"
    write_zip(path, omniglot_members("images_background"))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadInput, match="not a whole zip file"):
        open_omniglot(tmp_path)


def test_a_damaged_member_is_said_when_it_is_looked_at(tmp_path):
    path = tmp_path / "images_background.zip"
    members = omniglot_members("images_background")
    write_zip(path, members)
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    damaged = open_omniglot(tmp_path)
    rows = np.repeat(np.arange(4), 20), np.tile(np.arange(20), 4)
    with pytest.raises(BadInput, match=r"character01/.*png' in .* is damaged"):
        damaged.drawings(*rows)


def test_a_member_that_claims_too_much_is_said(tmp_path, monkeypatch):
    write_zip(tmp_path / "images_background.zip", omniglot_members("images_background"))
    monkeypatch.setattr(omniglot, "MAX_FILE_BYTES", 10)
    with pytest.raises(BadInput, match=r"claims .* bytes"):
        open_omniglot(tmp_path).drawings(*ALL)


def test_a_copy_in_another_process_gives_the_same(tmp_path):
    write_zip(tmp_path / "images_background.zip", omniglot_members("images_background"))
    found = open_omniglot(tmp_path)
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.drawings(*ALL).pixels, found.drawings(*ALL).pixels)


def test_the_real_files(real_data):
    found = open_omniglot(real_data)
    assert found.n_classes == 242
    assert {found.n_drawings(c) for c in range(242)} == {20}
    assert found.class_name(0) == "Balinese/character01"
    assert found.drawings(np.array([241]), np.array([19])).sizes.tolist() == [[105, 105]]
