import os

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.folder import open_folder
from everlearn.streams.images.settings import FolderSettings

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


def write_splits(root, files):
    """Class folders in folders of splits; each image has its own colour."""
    write_tree(root, {file: png(Image.new("RGB", (6, 6), (i, 0, 0))) for i, file in enumerate(files)})


def test_folders_of_splits(tmp_path):
    write_splits(
        tmp_path,
        ["train/a/1.png", "train/a/2.png", "train/b/1.png", "val/a/1.png", "test/a/1.png", "test/b/1.png"],
    )
    write_splits(tmp_path, ["icons/a.png"])
    dataset = open_folder(tmp_path, drawn_size=8)
    assert names(dataset) == ["a", "b"]
    counts = [(dataset.n_images(c), dataset.n_val(c), dataset.n_test(c)) for c in range(2)]
    assert counts == [(4, 1, 1), (2, 0, 1)]
    images = dataset.load(np.zeros(4, np.int64), np.arange(4))
    assert [int(images[i][0, 0, 0]) for i in range(4)] == [0, 1, 3, 4]
    source = FolderSettings(data=tmp_path).source()
    assert [source.pool(0, split).tolist() for split in ("val", "test")] == [[2], [3]]
    assert sorted(source.pool(0, "train")) == [0, 1]
    assert len(FolderSettings(data=tmp_path, split=(1, 0, 1)).source().pool(0, "train")) == 1


def test_validation_images_are_test_images_if_there_are_none(tmp_path):
    write_splits(tmp_path, ["train/a/1.png", "validation/a/1.png"])
    dataset = open_folder(tmp_path, drawn_size=8)
    assert (dataset.n_val(0), dataset.n_test(0)) == (0, 1)


def test_class_folder_named_train(tmp_path):
    write_splits(tmp_path, ["train/1.png", "test/1.png", "car/1.png"])
    assert names(open_folder(tmp_path, drawn_size=8)) == ["car", "test", "train"]


def test_class_without_images_in_a_split(tmp_path):
    write_splits(tmp_path, ["train/a/1.png", "train/b/1.png", "test/a/1.png"])
    with pytest.raises(BadInput, match=r"class 'b' of .* has no test images; add some or remove the class"):
        open_folder(tmp_path, drawn_size=8)


def test_real_folders_of_splits(real_data):
    if not (real_data / "grocery").is_dir():
        pytest.skip("EVERLEARN_DATA has no folder grocery")
    dataset = open_folder(real_data / "grocery", drawn_size=64)
    n_val, n_test = (sum(map(count, range(81))) for count in (dataset.n_val, dataset.n_test))
    assert (dataset.n_classes, n_val, n_test) == (81, 296, 2485)
