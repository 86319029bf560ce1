"""docs/results.md, its figures and the claims in the README: `python -m benchmarks.results_page`.

All of it from kept records; `everlearn reproduce sprites --out docs` first plays what is missing.
"""

from pathlib import Path

from benchmarks.places import between
from everlearn.papers import page as pages
from everlearn.papers.sprites import SPRITES

ROOT = Path(__file__).parent.parent
DOCS, README = ROOT / "docs", ROOT / "README.md"
PAGE = DOCS / SPRITES.page
LAPTOP = SPRITES.scale("laptop")
BEGIN, END = "<!-- claims: written by python -m benchmarks.results_page -->", "<!-- end of claims -->"


def shown() -> list[pages.Shown]:
    """What the kept records say to each exhibit."""
    return [pages.look_at(exhibit, LAPTOP, ROOT / "results") for exhibit in SPRITES.exhibits]


def page(found: list[pages.Shown]) -> str:
    """The page as it should be."""
    return pages.page(found, LAPTOP, SPRITES.title)


def with_claims(readme: str, found: list[pages.Shown]) -> str:
    """The README with its table of claims, those that were put to the test, brought up to date."""
    lines = [line for line in pages.summary(found, "docs/results.md") if pages.NOT_YET not in line]
    return between(readme, BEGIN, END, "\n".join(lines))


if __name__ == "__main__":
    found = shown()
    for each in found:
        pages.draw(each, DOCS)
    PAGE.write_text(page(found))
    README.write_text(with_claims(README.read_text(), found))
