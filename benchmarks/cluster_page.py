"""The figures of docs/scale.md about clusters, from the kept results: `python -m benchmarks.cluster_page`."""

import json
from pathlib import Path
from typing import Any

from benchmarks.places import between

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
RESULTS = Path(__file__).parent / "results" / "cluster.json"
BEGIN, END = "<!-- cluster: written by python -m benchmarks.cluster_page -->", "<!-- end of cluster -->"
COMPUTED, END_COMPUTED = "<!-- computed by python -m benchmarks.cluster_page -->", "<!-- end of computed -->"
CORES = (1, 16, 64, 256, 2000)
N_IMAGES = 100_000 * 6260
"""Images in a hundred thousand tasks of the usual stream."""
FORMATS = ("webdataset", "parquet")


def measured(kept: dict[str, Any]) -> str:
    """What was measured, and on what."""
    machine = kept["machine"]
    lines = [f"| {row['what']} | {_rounded(row['value'])} {row['unit']} |" for row in kept["rows"]]
    where = (
        f"Measured on one machine: {machine['cpus']} x {machine['processor']}, at a load of "
        f"{machine['load'][2]:.0f}, by `python -m benchmarks cluster`."
    )
    return "\n".join([where, "", "| | |", "|---|---|", *lines])


def _rounded(value: float) -> str:
    """Three digits that count, written out.

    Example:
        >>> _rounded(145678.0), _rounded(2.3456)
        ('146,000', '2.35')
    """
    return f"{float(f'{value:.3g}'):,.10g}"


def computed(kept: dict[str, Any]) -> str:
    """Hours for a large export: its tasks are made side by side, but signed by one process."""
    rates = {row["what"]: float(row["value"]) for row in kept["rows"]}
    signed = rates["tasks drawn and hashed, as by who signs"]
    lines = ["| cores | " + " | ".join(f"hours to {to}" for to in FORMATS) + " |", "|---|---|---|"]
    for cores in CORES:
        made = [rates[f"tasks of 64 px drawn and written to {to}"] for to in FORMATS]
        hours = [N_IMAGES / min(cores * rate, signed) / 3600 for rate in made]
        lines.append(f"| {cores:,} | " + " | ".join(f"{each:,.1f}" for each in hours) + " |")
    return "\n".join(lines)


def with_figures(text: str) -> str:
    """The page with its figures brought up to date."""
    kept = json.loads(RESULTS.read_text())
    return between(between(text, BEGIN, END, measured(kept)), COMPUTED, END_COMPUTED, computed(kept))


if __name__ == "__main__":
    PAGE.write_text(with_figures(PAGE.read_text()))
