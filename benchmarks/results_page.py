"""The pages of papers done again, and their claims in the README: `python -m benchmarks.results_page`.

All of it from kept records; `everlearn reproduce sprites --out docs` (or negative, or vase) first plays what
is missing.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.places import between
from everlearn.papers import PAPERS, Paper
from everlearn.papers import page as pages

ROOT = Path(__file__).parent.parent
DOCS, README = ROOT / "docs", ROOT / "README.md"
BEGIN, END = "<!-- claims: written by python -m benchmarks.results_page -->", "<!-- end of claims -->"
Found = list[tuple[Paper, list[pages.Shown]]]


def shown() -> Found:
    """What the kept records say to each exhibit, of papers of which any run was played."""
    found = [(paper, list(_exhibits(paper))) for paper in PAPERS]
    return [(paper, exhibits) for paper, exhibits in found if any(each.groups for each in exhibits)]


def _exhibits(paper: Paper) -> Iterator[pages.Shown]:
    for exhibit in paper.exhibits:
        yield pages.look_at(exhibit, paper.scale("laptop"), ROOT / "results")


def page(paper: Paper, found: list[pages.Shown]) -> str:
    """The page of a paper as it should be."""
    return pages.page(found, paper.scale("laptop"), paper.title)


def with_claims(readme: str, found: Found) -> str:
    """The README with the claims of the first paper that were put to the test, and a word on the others."""
    (first, exhibits), *others = found
    lines = [line for line in pages.summary(exhibits, f"docs/{first.page}") if pages.NOT_YET not in line]
    return between(readme, BEGIN, END, "\n".join([*lines, *(_word(*each) for each in others)]))


def _word(paper: Paper, found: list[pages.Shown]) -> str:
    verdicts = [verdict for each in found for verdict in each.verdicts if verdict is not None]
    seen = sum(verdict.holds for verdict in verdicts)
    return f"\n[{paper.title}](docs/{paper.page}): {seen} of {len(verdicts)} claims seen."


if __name__ == "__main__":
    found = shown()
    for paper, exhibits in found:
        for each in exhibits:
            pages.draw(each, DOCS)
        (DOCS / paper.page).write_text(page(paper, exhibits))
    README.write_text(with_claims(README.read_text(), found))
