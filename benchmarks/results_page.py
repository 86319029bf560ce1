"""Write the results pages of papers and the claims in the README: `python -m benchmarks.results_page`.

Uses the committed records only; `everlearn reproduce sprites --out docs` (or gnr, or vase) runs what is
missing.
"""

from pathlib import Path

from benchmarks.places import between
from everlearn.papers import PAPERS, Paper, report
from everlearn.papers.report import Reproduction

ROOT = Path(__file__).parent.parent
DOCS, README = ROOT / "docs", ROOT / "README.md"
BEGIN, END = "<!-- claims: written by python -m benchmarks.results_page -->", "<!-- end of claims -->"
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
    return report.page(reproductions, paper.scale("laptop"), paper.title)


def with_claims(readme: str, results: Results) -> str:
    """The README with the claims table of the first paper and a count for each of the others."""
    (first, reproductions), *others = results
    rows = report.claims_table(reproductions, f"docs/{first.page}")
    lines = [line for line in rows if report.NOT_RUN not in line]
    return between(readme, BEGIN, END, "\n".join([*lines, *(_count(*each) for each in others)]))


def _count(paper: Paper, reproductions: list[Reproduction]) -> str:
    verdicts = [verdict for each in reproductions for verdict in each.verdicts if verdict is not None]
    n_holds = sum(verdict.holds for verdict in verdicts)
    return f"\n[{paper.title}](docs/{paper.page}): {n_holds} of {len(verdicts)} claims reproduced."


if __name__ == "__main__":
    found = results()
    for paper, reproductions in found:
        for each in reproductions:
            each.write_figure(DOCS)
        (DOCS / paper.page).write_text(page(paper, reproductions))
    README.write_text(with_claims(README.read_text(), found))
