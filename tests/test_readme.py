"""Numbers in the README are those that were measured."""

from benchmarks.readme import README, with_table


def test_figures_are_those_of_the_kept_results() -> None:
    text = README.read_text("utf-8")
    assert with_table(text) == text, "run `python -m benchmarks.readme`"
