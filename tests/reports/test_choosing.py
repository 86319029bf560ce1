from pathlib import Path
from xml.etree import ElementTree

import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import Choice
from everlearn.reports.multiple_choice_figure import choice_figure

FOUND = {
    "dcl": [Choice(n, 100, 100 - n) for n in range(2, 11)],
    "seer": [Choice(n, 100, 120 // n) for n in range(2, 11)],
}


@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png"])
def test_equal_answers_give_equal_bytes(tmp_path: Path, ending: str) -> None:
    one, other = (choice_figure(FOUND, tmp_path / f"{name}{ending}") for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_it_names_everybody_and_the_guess(tmp_path: Path) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        path = choice_figure(FOUND, tmp_path / "choice.svg")
    text = path.read_text()
    ElementTree.parse(path)
    for word in ("dcl", "seer", "a guess", "number of choices", "accuracy"):
        assert f"<!-- {word} -->" in text


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to draw"):
        choice_figure({}, tmp_path / "choice.svg")
    with pytest.raises(BadInput, match="ends in"):
        choice_figure(FOUND, tmp_path / "choice.txt")
    with pytest.raises(BadInput, match="unknown look"):
        choice_figure(FOUND, tmp_path / "choice.svg", look="neon")
    assert list(tmp_path.iterdir()) == []
