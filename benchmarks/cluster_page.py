"""The figures of docs/scale.md about clusters, from the kept results: `python -m benchmarks.cluster_page`."""

import json
from pathlib import Path

from benchmarks.places import between

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
RESULTS = Path(__file__).parent / "results" / "cluster.json"
BEGIN, END = "<!-- cluster: written by python -m benchmarks.cluster_page -->", "<!-- end of cluster -->"


def table() -> str:
    """What was measured, and on what."""
    kept = json.loads(RESULTS.read_text())
    machine = kept["machine"]
    lines = [f"| {row['what']} | {row['value']:,.3g} {row['unit']} |" for row in kept["rows"]]
    where = (
        f"Measured on one machine: {machine['cpus']} x {machine['processor']}, "
        f"with {machine['load'][2]:.0f} other processes at work all the while."
    )
    return "\n".join([where, "", "| | |", "|---|---|", *lines])


def with_table(text: str) -> str:
    """The page with its table brought up to date."""
    return between(text, BEGIN, END, table())


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
