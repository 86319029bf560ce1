import os
import unicodedata

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.folder import data_root, first_folder, listed, open_folder

from .files import png, write_tree

RED, CLEAR = png(Image.new("RGB", (6, 4), "red")), png(Image.new("RGBA", (4, 4), (0, 255, 0, 0)))


def names(dataset):
    return [dataset.class_name(c) for c in range(dataset.n_classes)]


def test_sub_folders_are_classes(tmp_path):
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
    assert [pets.n_images(c) for c in range(2)] == [1, 2]
    images = pets.load(np.array([1, 1]), np.array([0, 1]))
    assert images.sizes.tolist() == [[4, 4], [4, 6]]
    assert images[0].max() == 0  # colours of transparent pixels are removed
    assert images[1][0, 0].tolist() == [255, 0, 0, 255]


def test_flat_folder_has_one_class_per_image(tmp_path):
    write_tree(tmp_path, {"sun.png": RED, "moon.png": CLEAR, "readme.md": b""})
    assert names(open_folder(tmp_path, drawn_size=8)) == ["moon", "sun"]


def test_images_with_equal_stems(tmp_path):
    write_tree(tmp_path, {"sun.png": RED, "sun.gif": CLEAR})
    assert names(open_folder(tmp_path, drawn_size=8)) == ["sun.gif", "sun.png"]


def test_unusual_names(tmp_path):
    unusual = ["with space", "ünïcödé", "new\nline", "日本", "-dash"]
    write_tree(tmp_path, {f"{name}/a.png": RED for name in unusual})
    write_tree(tmp_path, {os.fsdecode(b"caf\xe9/\xff.png"): RED})
    dataset = open_folder(tmp_path, drawn_size=8)
    assert set(names(dataset)) == {*unusual, "caf\\xe9"}
    assert len(dataset.load(np.arange(6), np.zeros(6, np.int64))) == 6


def test_large_images_are_reduced(tmp_path):
    write_tree(tmp_path, {"a/big.png": png(np.full((600, 300), 90, np.uint8)), "b/small.png": RED})
    dataset = open_folder(tmp_path, drawn_size=10, rgb=False)
    images = dataset.load(np.array([0, 1]), np.array([0, 0]))
    assert images.sizes.tolist() == [[20, 10], [4, 6]]
    assert (images[0] == [90, 255]).all()


def test_images_beside_class_folders_are_rejected(tmp_path):
    write_tree(tmp_path, {"cat/a.png": RED, "b.png": RED})
    with pytest.raises(BadInput, match=r"both class folders and single images \(such as 'b.png'\)"):
        open_folder(tmp_path, drawn_size=8)


def test_empty_folder_is_rejected(tmp_path):
    with pytest.raises(BadInput, match="contains no images; add one sub-folder per class"):
        open_folder(tmp_path, drawn_size=8)


def test_images_are_decoded_on_first_use(tmp_path):
    write_tree(tmp_path, {"a/broken.png": b"nonsense", "b/fine.png": RED})
    dataset = open_folder(tmp_path, drawn_size=8)
    assert len(dataset.load(np.array([1]), np.array([0]))) == 1
    with pytest.raises(BadInput, match=r"a/broken\.png is not an image"):
        dataset.load(np.array([0]), np.array([0]))


def test_removed_file(tmp_path):
    write_tree(tmp_path, {"a/gone.png": RED})
    dataset = open_folder(tmp_path, drawn_size=8)
    (tmp_path / "a/gone.png").unlink()
    with pytest.raises(BadInput, match=r"gone\.png' cannot be read"):
        dataset.load(np.array([0]), np.array([0]))


def test_pipes_are_ignored(tmp_path):
    write_tree(tmp_path, {"a/fine.png": RED})
    os.mkfifo(tmp_path / "a/pipe.png")
    assert open_folder(tmp_path, drawn_size=8).n_images(0) == 1


def test_setting_overrides_the_environment_variable(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    assert data_root(None, "mnist") == tmp_path
    assert data_root(tmp_path / "here", "mnist") == tmp_path / "here"


def test_relative_setting_is_searched_in_both(tmp_path, monkeypatch):
    for folder in ("common/icons", "here/icons", "common/other"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "common"))
    monkeypatch.chdir(tmp_path / "here")
    relative = type(tmp_path)
    assert data_root(relative("icons"), "x").resolve() == tmp_path / "here/icons"
    assert data_root(relative("other"), "x") == tmp_path / "common/other"


@pytest.mark.usefixtures("no_data")
def test_missing_setting():
    with pytest.raises(BadInput, match=r"the folder of mnist is not given; set EVERLEARN_DATA or data="):
        data_root(None, "mnist")


def test_folder_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "gone"))
    with pytest.raises(BadInput, match=r"EVERLEARN_DATA is .*gone"):
        data_root(None, "mnist")
    with pytest.raises(BadInput, match=r"data is .*nowhere"):
        data_root(tmp_path / "nowhere", "mnist")


def test_first_folder(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.gz").touch()
    assert first_folder(tmp_path, ("a", "b"), ("file", "file.gz")) == tmp_path / "a"
    assert first_folder(tmp_path / "b", ("a",), ("file.gz",)) == tmp_path / "b"
    assert first_folder(tmp_path, ("a",), ("other",)) is None


def test_listed_is_sorted_and_without_hidden_files(tmp_path):
    composed, decomposed = unicodedata.normalize("NFC", "éa"), unicodedata.normalize("NFD", "éb")
    for name in ("b", "B", "10", "9", ".hidden", decomposed, composed):
        (tmp_path / name).touch()
    assert [entry.name for entry in listed(tmp_path)] == ["10", "9", "B", "b", composed, decomposed]


def test_unreadable_folder(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        listed(tmp_path / "gone")
