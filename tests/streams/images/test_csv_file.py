import re

import pytest

from everlearn import streams
from everlearn.errors import BadInput
from tests.golden.datasets import make_image, write_png


@pytest.fixture
def folder(tmp_path):
    for number in range(4):
        write_png(tmp_path / f"{number}.png", make_image(number, 0, 16, 3))
    return tmp_path


def write(folder, *lines, name="table.csv"):
    (folder / name).write_text("\n".join(lines), encoding="utf-8-sig")
    return folder / name


def test_columns_order_of_classes_and_splits(folder):
    path = write(folder, "name,file,kind", "a,0.png,10", "b,1.png,9", "c,2.png,10", "d,3.png,9")
    stream = streams.csv(data=path, label_column="kind", image_size=16)
    assert [stream.source.class_name(c) for c in range(2)] == ["9", "10"]
    assert len(stream.task(0).train) == len(stream.task(0).test) == 2
    lines = ("image,label,split", "0.png,a,train", "1.png,b,train", "2.png,a,validation", "3.png,b,Val")
    task = streams.csv(data=write(folder, *lines), image_size=16).task(0)
    assert (len(task.train), len(task.val), len(task.test)) == (2, 0, 2), "val is test if there is no test"
    assert (task.test.images[task.test.labels == 1][0] == make_image(3, 0, 16, 3)).all()


ROWS = ("0.png,a", "1.png,b", "2.png,a")
INVALID = {
    "has no column image or path or file or filename; its columns are photo, label;": ("photo,label",),
    "has no column label or class; its columns are image": ("image",),
    "line 2 of": ("image,label", ",a"),
    "has no image; complete or remove it": ("image,label", ",a"),
    "line 3 of": ("image,label", "0.png,a", "1.png,"),
    "has no label; complete or remove it": ("image,label", "0.png,a", "1.png"),
    "names the image 'gone.png', which does not exist": ("image,label", "gone.png,a"),
    "has the split 'dev'; it must be train, val or test": ("image,label,split", "0.png,a,dev"),
    "contains no images; add some": ("image,label",),
    "class 'b' has only one image": ("image,label", *ROWS),
    "class 'b' of": ("image,label,split", "0.png,a,train", "1.png,b,train", "2.png,a,test"),
    "has no train images; add some": ("image,label,split", "0.png,a,train", "3.png,a,test", "1.png,b,test"),
}  # fmt: skip


@pytest.mark.parametrize(("message", "lines"), INVALID.items(), ids=list(INVALID))
def test_unusable_tables_are_rejected(message, lines, folder):
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        streams.csv(data=write(folder, *lines))
    assert "\n" not in str(error.value)


def test_unusable_files_are_rejected(folder):
    with pytest.raises(BadInput, match=r"unknown column of .* 'lable'; did you mean 'label'"):
        streams.csv(data=write(folder, "image,label", *ROWS), label_column="lable")
    (folder / "latin.csv").write_bytes("image,label\n0.png,süß".encode("latin-1"))
    with pytest.raises(BadInput, match="cannot be read as CSV"):
        streams.csv(data=folder / "latin.csv")
    with pytest.raises(BadInput, match="cannot be read as CSV"):
        streams.csv(data=folder)
    with pytest.raises(BadInput, match="the CSV file is not given; set data="):
        streams.csv()


def test_paths_stay_valid_in_another_working_directory(folder, monkeypatch, tmp_path_factory):
    write(folder, "image,label", "0.png,a", "1.png,a", "2.png,b", "3.png,b")
    monkeypatch.chdir(folder)
    stream = streams.csv(data="table.csv")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(stream.task(0).train) == 2
