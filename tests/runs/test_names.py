import re
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.run_record import check_folder, folder_name

ODD = [
    "..", ".", "/", "//", "/etc/passwd", "../../x", "..\\..\\x", "C:\\x", "con", "CON", "nul", "aux.txt",
    "-rf", "--help", "", " ", "   leading", "trailing   ", "a b", "a  b", "ä", "a\u0308", "é",
    "e\u0301", "日本語", "Привет", "عربي", "\u202eabc", "👩\u200d🚀", "🚀", "a" * 200, "é" * 200, "A", "a",
    "a/b",     "a\\b", "a:b", "a*b", "a?b", 'a"b', "a<b>", "a|b", "$(touch x)", "`x`", "; rm ~", "&&", "%00",
    "%2e%2e", "~", "~root", "{}", "[]", "'", "#", "a.json", "spec.json", ".lock", "checkpoint", "ﬁ", "½",
    "ⅷ", "\u200b", "Σίσυφος", "ß", "İ", "0", "1e309", "NaN", "None",
]  # fmt: skip
REFUSED = [
    "a\0b",
    "\n",
    "a\nb",
    "\r",
    "\x1b[31m",
    "\x07",
    "\x7f",
    "\ud800",
    "\u2028",
    "x" * 201,
    "x" * 10_000,
    "\x85",
]


def test_there_are_enough_of_them() -> None:
    assert len(ODD) >= 60


@pytest.mark.parametrize("name", ODD)
def test_any_words_get_a_plain_folder_inside_the_root(name: str, tmp_path: Path) -> None:
    folder = folder_name(name, "0123456789abcdef")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-01234567", folder)
    assert len(folder.encode()) <= 100
    (tmp_path / folder).mkdir()
    assert (tmp_path / folder).resolve().parent == tmp_path.resolve()


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_on_a_line_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="is no name for a run"):
        folder_name(name, "0" * 64)


def test_names_that_look_alike_keep_apart_by_their_identity() -> None:
    assert folder_name("É", "1" * 64) != folder_name("e", "2" * 64)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "\ud800"])
def test_paths_that_no_folder_can_have(path: str) -> None:
    with pytest.raises(BadInput, match="no folder can be called"):
        check_folder(path)
