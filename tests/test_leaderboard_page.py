from benchmarks.leaderboard_page import PAGE, with_tables


def test_page_matches_the_score_cards() -> None:
    text = PAGE.read_text("utf-8")
    assert with_tables(text) == text, "run `python -m benchmarks.leaderboard_page`"
