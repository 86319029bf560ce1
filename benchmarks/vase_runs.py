"""Run the experiments of VASE seed by seed, the most important rows first: `python -m benchmarks.vase_runs`.

`everlearn reproduce vase` runs the same jobs, but all seeds of a row before the next row. An interrupted run
continues where it was; what is finished is not repeated. Names of series limit the runs to them.
"""

import sys
from pathlib import Path

from everlearn.papers.vase import VASE
from everlearn.runs.sweep import Capacity, Job, pending_commands, run_jobs

ROOT = Path(__file__).parent.parent
LAPTOP = VASE.scale("laptop")
FIRST = ("CCI-VAE", "SDA", "A", "SD", "SA", "DA", "S", "D", "VAE", "SDA, entangled", "SD-[41]")
"""Rows in order of value; the others follow in the order of the table."""


def ordered(names: list[str]) -> list[Job]:
    """The jobs of some series, or of all, seed by seed."""
    series = list(dict.fromkeys([*FIRST, *LAPTOP.series]))
    jobs = {name: LAPTOP.jobs(name, ROOT / "results") for name in series if not names or name in names}
    n_seeds = max(map(len, jobs.values()), default=0)
    return [found[seed] for seed in range(n_seeds) for found in jobs.values() if seed < len(found)]


if __name__ == "__main__":
    for job in ordered(sys.argv[1:]):
        for event in run_jobs([job], capacity=Capacity(workers=1)):
            print(event, flush=True)
        if pending_commands(job):  # stopped or failed
            break
