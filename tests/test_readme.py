"""Numbers in the README and in DCL's page are those that were measured."""

from pathlib import Path

import pytest
from benchmarks.dcl_page import PAGES, with_tables
from benchmarks.readme import README, with_table
from benchmarks.results_page import DOCS, page, results, with_claims

AGAIN = "run `python -m benchmarks.results_page`"


def test_figures_are_those_of_the_kept_results() -> None:
    text = README.read_text("utf-8")
    assert with_table(text) == text, "run `python -m benchmarks.readme`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_dcl_reaches_is_what_its_records_say(page: Path) -> None:
    text = page.read_text("utf-8")
    assert with_tables(text) == text, "run `python -m benchmarks.dcl_page`"


def test_results_pages_match_the_records() -> None:
    found = results()
    for paper, reproductions in found:
        assert (DOCS / paper.page).read_text("utf-8") == page(paper, reproductions), AGAIN
        for each in reproductions:
            assert (DOCS / each.figure).is_file() or not each.groups or each.experiment.draw is None
    text = README.read_text("utf-8")
    assert with_claims(text, found) == text, AGAIN
