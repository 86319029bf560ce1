"""Numbers in the README and in the pages of docs/ are those of the committed results."""

from pathlib import Path

import pytest
from benchmarks import dcl_page, readme
from benchmarks.results_page import DOCS, page, results


@pytest.mark.more
@pytest.mark.parametrize("path", [readme.README, readme.PAGE], ids=lambda path: path.name)
def test_benchmark_tables_match_the_results(path: Path) -> None:
    assert readme.with_tables(path) == path.read_text("utf-8"), "run `python -m benchmarks.readme`"


@pytest.mark.more
@pytest.mark.parametrize("path", dcl_page.PAGES, ids=lambda path: path.name)
def test_dcl_tables_match_the_records(path: Path) -> None:
    text = path.read_text("utf-8")
    assert dcl_page.with_tables(text) == text, "run `python -m benchmarks.dcl_page`"


@pytest.mark.more
def test_results_pages_match_the_records() -> None:
    for paper, reproductions in results():
        expected = page(paper, reproductions)
        assert (DOCS / paper.page).read_text("utf-8") == expected, "run `python -m benchmarks.results_page`"
        for each in reproductions:
            assert (DOCS / each.figure).is_file() or not each.groups or each.experiment.draw is None
