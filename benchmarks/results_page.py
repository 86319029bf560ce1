"""Write the results pages of papers: `python -m benchmarks.results_page`.

Uses the committed records only; `everlearn reproduce sprites --out docs` (or gnr, or vase) runs what is
missing. The conclusions of a page, which are written by hand, are kept.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from everlearn.papers import PAPERS, Paper, report
from everlearn.papers.report import Reproduction

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
Results = list[tuple[Paper, list[Reproduction]]]


def results() -> Results:
    """The reproductions of each paper of which any run is finished."""
    found = [(paper, _reproductions(paper)) for paper in PAPERS]
    return [(paper, reproductions) for paper, reproductions in found if any(r.groups for r in reproductions)]


def _reproductions(paper: Paper) -> list[Reproduction]:
    scale, records = paper.scale("laptop"), ROOT / "results"
    return [Reproduction.from_records(experiment, scale, records) for experiment in paper.experiments]


def page(paper: Paper, reproductions: list[Reproduction]) -> str:
    """The results page of a paper."""
    conclusions = report.conclusions_of(DOCS / paper.page)
    return report.page(reproductions, paper.scale("laptop"), paper.title, conclusions)


def counts() -> Iterator[str]:
    """For each paper a row of a table: how many of its claims are reproduced."""
    for paper, reproductions in results():
        marks = Counter(
            verdict.mark
            for each in reproductions
            for claim, verdict in zip(each.experiment.claims, each.verdicts, strict=True)
            if verdict is not None and not claim.is_ours
        )
        others = "".join(f", {n} {mark}" for mark, n in sorted(marks.items()) if mark not in ("yes", "no"))
        count = f"{marks['yes']} of {marks.total()}{others}"
        yield f"| [{paper.title}](docs/{paper.page}): claims reproduced | {count} |"


if __name__ == "__main__":
    for paper, reproductions in results():
        for each in reproductions:
            each.write_figure(DOCS)
        (DOCS / paper.page).write_text(page(paper, reproductions))
