"""The tables of docs/scale.md about clusters: `python -m benchmarks.cluster_page`."""

import json
from pathlib import Path
from typing import Any

from benchmarks import processors
from benchmarks.page_sections import replace_section

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
RESULTS = processors.RESULTS / processors.REFERENCE / "cluster.json"
BEGIN, END = "<!-- cluster: written by python -m benchmarks.cluster_page -->", "<!-- end of cluster -->"
COMPUTED, END_COMPUTED = "<!-- computed by python -m benchmarks.cluster_page -->", "<!-- end of computed -->"
CORES = (1, 16, 64, 256, 2000)
N_IMAGES = 100_000 * 6260
"""Images of 100,000 tasks of the default stream."""
FORMATS = ("webdataset", "parquet")


def measured(kept: dict[str, Any]) -> str:
    """Measurements and machine."""
    machine = kept["machine"]
    lines = [f"| {row['what']} | {_rounded(row['value'])} {row['unit']} |" for row in kept["rows"]]
    where = (
        f"Measured on one machine: {machine['cpus']} x {machine['processor']}, at a load of "
        f"{machine['load'][2]:.0f}, by `python -m benchmarks cluster`."
    )
    return "\n".join([where, "", "| | |", "|---|---|", *lines])


def _rounded(value: float) -> str:
    """Three significant digits without exponent.

    Example:
        >>> _rounded(145678.0), _rounded(2.3456)
        ('146,000', '2.35')
    """
    return f"{float(f'{value:.3g}'):,.10g}"


def computed(kept: dict[str, Any]) -> str:
    """Hours for a large export: parallel generation, fingerprint by one process."""
    rates = {row["what"]: float(row["value"]) for row in kept["rows"]}
    fingerprint = rates["tasks generated and hashed (fingerprint)"]
    lines = ["| cores | " + " | ".join(f"hours to {to}" for to in FORMATS) + " |", "|---|---|---|"]
    for cores in CORES:
        made = [rates[f"tasks of 64 px generated and written to {to}"] for to in FORMATS]
        hours = [N_IMAGES / min(cores * rate, fingerprint) / 3600 for rate in made]
        lines.append(f"| {cores:,} | " + " | ".join(f"{each:,.1f}" for each in hours) + " |")
    return "\n".join(lines)


def with_figures(text: str) -> str:
    """The page with updated tables."""
    kept = json.loads(RESULTS.read_text())
    text = replace_section(text, BEGIN, END, measured(kept))
    return replace_section(text, COMPUTED, END_COMPUTED, computed(kept))


if __name__ == "__main__":
    PAGE.write_text(with_figures(PAGE.read_text()))
