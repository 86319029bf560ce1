import json
import subprocess
import sys
from dataclasses import replace

from everlearn.reports.leaderboard import Leaderboard

from .cards import card_of


def test_cards_are_ordered_by_accuracy_within_a_size() -> None:
    board = Leaderboard([card_of("naive", 0.1), card_of("er", 0.5), card_of("dcl", 0.9, "full")])
    assert [(row["size"], row["name"]) for row in board.rows()] == [
        ("small", "er"), ("small", "naive"), ("full", "dcl"),
    ]  # fmt: skip
    assert json.loads(json.dumps(board.rows(), allow_nan=False)) == board.rows()
    assert board.rows()[0]["scores"]["long"]["value"] == 0.505
    assert [column["heading"] for column in board.columns()["full"]][:3] == [
        "10 tasks",
        "100 tasks",
        "500 tasks",
    ]


def test_cards_are_read_without_torch() -> None:
    program = (
        "import sys; from pathlib import Path; from everlearn.reports.leaderboard import Leaderboard; "
        "from everlearn.reports.score_card import read_cards; Leaderboard(read_cards(Path('.'))).rows(); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_other_suites_are_not_listed() -> None:
    assert Leaderboard([replace(card_of("er", 0.5), suite="v0")]).rows() == []


def test_markdown_gives_every_score_and_why_one_is_missing() -> None:
    text = Leaderboard([card_of("er", 0.5), card_of("naive", 0.1)]).to_markdown()
    lines = text.splitlines()
    (er,) = (line for line in lines if line.startswith("| er |") and "not applicable" in line)
    assert "0.505 ±0.007" in er
    assert "- one-shot, not applicable, has no exemplar memory that can be edited: er, naive" in lines
    assert "±: standard deviation" in text
    tables = [line for line in lines if line.startswith("### ")]
    assert tables == ["### Scores, size small", "### Cost of the long run, size small"]
