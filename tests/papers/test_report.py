from pathlib import Path

from everlearn.papers import PAPERS
from everlearn.papers.report import CONCLUSIONS, END_OF_CONCLUSIONS, conclusions_of, page, write_page

PAPER = PAPERS[0]
SCALE = PAPER.scale("smoke")


def test_conclusions_survive_when_the_page_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.md"
    write_page(path, [], SCALE, "A paper")
    assert conclusions_of(path) == ""
    assert CONCLUSIONS not in path.read_text("utf-8")
    path.write_text(page([], SCALE, "A paper", "Replay helps.\n\nNot by much."), "utf-8")
    write_page(path, [], SCALE, "The same paper")
    text = path.read_text("utf-8")
    assert text.startswith("# The same paper\n")
    assert f"{CONCLUSIONS}\nReplay helps.\n\nNot by much.\n{END_OF_CONCLUSIONS}\n" in text


def test_conclusions_without_end_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"# Title\n{CONCLUSIONS}\nA sentence without", "utf-8")
    assert conclusions_of(path) == ""
