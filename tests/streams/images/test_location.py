import pytest

from everlearn.errors import BadInput
from everlearn.streams.images.location import data_folder, data_path, data_root, first_folder


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


def test_default_folder_is_that_of_the_system(tmp_path, monkeypatch):
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder().name == "everlearn"
    if data_folder() == tmp_path / "everlearn":  # on Linux
        (tmp_path / "everlearn/mnist").mkdir(parents=True)
        assert data_root(None, "mnist") == tmp_path / "everlearn"
        assert data_path(type(tmp_path)("mnist"), "x") == tmp_path / "everlearn/mnist"


def test_named_file(tmp_path, monkeypatch):
    (tmp_path / "common").mkdir()
    (tmp_path / "common/table.csv").touch()
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "common"))
    monkeypatch.chdir(tmp_path)
    relative = type(tmp_path)
    assert data_path(relative("common/table.csv"), "x") == tmp_path / "common/table.csv"
    assert data_path(relative("table.csv"), "x") == tmp_path / "common/table.csv"
    with pytest.raises(BadInput, match=r"the file is not at '.*/gone' or '.*/common/gone'; correct data="):
        data_path(relative("gone"), "the file")
    with pytest.raises(BadInput, match=r"the file is not at '[^']*/gone'; correct data="):
        data_path(tmp_path / "gone", "the file")
