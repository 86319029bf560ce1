from benchmarks.memory_page import PAGE, with_table


def test_table_matches_the_stored_results() -> None:
    text = PAGE.read_text("utf-8")
    assert with_table(text) == text, "run `python -m benchmarks.memory_page`"
