"""Figures for papers and talks, from records to files."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from everlearn import files
from everlearn.errors import BadInput, unknown
from everlearn.reports import latent_figures, probe_figures, protocol_figures, run_figures
from everlearn.reports.groups import group
from everlearn.reports.run_figures import Drawing, Groups
from everlearn.reports.style import LOOKS, Look, encoded, worn

if TYPE_CHECKING:
    from everlearn.runs import Record

DRAWINGS = {
    **run_figures.DRAWINGS,
    **probe_figures.DRAWINGS,
    **latent_figures.DRAWINGS,
    **latent_figures.AMBIGUITY_FIGURES,
    **protocol_figures.DRAWINGS,
}
FIGURES = {kind: inspect.getdoc(draw) or kind for kind, draw in DRAWINGS.items()}
"""Every kind of figure, and what it shows."""
ENDINGS = (".svg", ".pdf", ".png")


def figure(kind: str, records: Sequence["Record"], path: Path | str, *, look: str = "paper") -> Path:
    """Draw what records say; equal records give equal bytes.

    Args:
        kind: what to show, one of `FIGURES`.
        records: the runs; those that differ only in their seeds become one line with a band around it.
        path: an .svg, .pdf or .png file to write; its folder must exist.
        look: "paper", or "dark" for slides.
    """
    path = Path(path)
    if kind not in DRAWINGS:
        raise unknown("figure", kind, DRAWINGS)
    if look not in LOOKS:
        raise unknown("look", look, LOOKS)
    check_path(path, ENDINGS)
    return write(DRAWINGS[kind], group(records), path, LOOKS[look])


def write(draw: Drawing, groups: Groups, path: Path, look: Look) -> Path:
    """Draw groups in a look into a file."""
    with worn(look):
        data = encoded(draw(groups, look), path.suffix[1:].lower())
    files.write(path, data)
    return path


def check_path(path: Path, endings: Sequence[str]) -> None:
    """Complain unless a file with one of these endings can be written there."""
    if path.suffix.lower() not in endings:
        raise BadInput(f"cannot write {str(path)!r}; give a name that ends in {' or '.join(endings)}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"cannot write {str(path)!r}; give the name of a file in a folder that exists")
