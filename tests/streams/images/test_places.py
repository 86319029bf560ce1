import unicodedata

import pytest

from everlearn.errors import BadInput
from everlearn.streams.images.folder import data_root, first_folder, listed


def test_the_setting_goes_before_the_variable(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    assert data_root(None, "mnist") == tmp_path
    assert data_root(tmp_path / "here", "mnist") == tmp_path / "here"


def test_a_relative_setting_is_looked_for_here_then_in_the_variable(tmp_path, monkeypatch):
    for place in ("common/icons", "here/icons", "common/other"):
        (tmp_path / place).mkdir(parents=True)
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "common"))
    monkeypatch.chdir(tmp_path / "here")
    relative = type(tmp_path)
    assert data_root(relative("icons"), "x").resolve() == tmp_path / "here/icons"
    assert data_root(relative("other"), "x") == tmp_path / "common/other"


@pytest.mark.usefixtures("no_data")
def test_nobody_said_where():
    with pytest.raises(BadInput, match=r"where mnist lies; set EVERLEARN_DATA, or data="):
        data_root(None, "mnist")


def test_what_is_no_folder_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "gone"))
    with pytest.raises(BadInput, match=r"EVERLEARN_DATA names .*gone"):
        data_root(None, "mnist")
    with pytest.raises(BadInput, match=r"data names .*nowhere"):
        data_root(tmp_path / "nowhere", "mnist")


def test_first_folder_prefers_sub_folders_in_the_order_given(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.gz").touch()
    assert first_folder(tmp_path, ("a", "b"), ("file", "file.gz")) == tmp_path / "a"
    assert first_folder(tmp_path / "b", ("a",), ("file.gz",)) == tmp_path / "b"
    assert first_folder(tmp_path, ("a",), ("other",)) is None


def test_listing_is_sorted_by_letters_and_hides_hidden_things(tmp_path):
    composed, decomposed = unicodedata.normalize("NFC", "éa"), unicodedata.normalize("NFD", "éb")
    for name in ("b", "B", "10", "9", ".hidden", decomposed, composed):
        (tmp_path / name).touch()
    assert [entry.name for entry in listed(tmp_path)] == ["10", "9", "B", "b", composed, decomposed]


def test_a_folder_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        listed(tmp_path / "gone")
