"""Run the experiments of a paper seed by seed: `python -m benchmarks.paper_runs PAPER [SERIES...]`.

`everlearn reproduce` runs the same jobs, but all seeds of a series before the next. Interrupted runs
are resumed, and finished ones are not repeated. Series run in the given order; without names, in order of
their value.
"""

import sys
from pathlib import Path

from everlearn.errors import unknown
from everlearn.papers import PAPERS
from everlearn.papers.experiment import Scale
from everlearn.runs.sweep import Capacity, Job, pending_commands, run_jobs

ROOT = Path(__file__).parent.parent
FIRST = {
    "sprites": ("er 5k", "er 10k", "er 20k", "er 2k", "er 1k"),
    "vase": ("CCI-VAE", "SDA", "A", "SD", "SA", "DA", "S", "D", "VAE", "SDA, entangled", "SD-[41]"),
}
"""Series in order of value; the others follow in the order of their paper's table."""


def ordered(scale: Scale, first: tuple[str, ...], names: list[str]) -> list[Job]:
    """The jobs of some series, or of all, seed by seed."""
    series = names or list(dict.fromkeys([*first, *scale.series]))
    jobs = [scale.jobs(name, ROOT / "results") for name in series]
    n_seeds = max(map(len, jobs), default=0)
    return [found[seed] for seed in range(n_seeds) for found in jobs if seed < len(found)]


def main(paper: str, names: list[str]) -> None:
    """Run what is pending, one run after the other."""
    papers = {each.name: each for each in PAPERS}
    if paper not in papers:
        sys.exit(str(unknown("paper", paper, papers)))
    scale = papers[paper].scale("laptop")
    for job in ordered(scale, FIRST.get(paper, ()), names):
        for event in run_jobs([job], capacity=Capacity(workers=1)):
            print(event, flush=True)
        if pending_commands(job):  # stopped or failed
            break


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
