"""Tables of docs/leaderboard.md from stored score cards: `python -m benchmarks.leaderboard_page`."""

from pathlib import Path

from benchmarks.page_sections import replace_section
from everlearn.reports.leaderboard import Leaderboard
from everlearn.reports.score_card import read_cards

ROOT = Path(__file__).parent.parent
PAGE, CARDS = ROOT / "docs" / "leaderboard.md", ROOT / "results" / "leaderboard"
BEGIN, END = (
    "<!-- tables: written by python -m benchmarks.leaderboard_page -->",
    "<!-- end of tables -->",
)


def with_tables(text: str) -> str:
    """The page with updated tables."""
    return replace_section(text, BEGIN, END, Leaderboard(read_cards(CARDS)).to_markdown().rstrip("\n"))


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
