from benchmarks.memory_page import PAGE, with_table


def test_the_table_is_what_was_measured() -> None:
    text = PAGE.read_text("utf-8")
    assert with_table(text) == text, "run `python -m benchmarks.memory_page`"
