"""An exhibit played at the smallest size, drawn and judged."""

from pathlib import Path

from everlearn.papers import Paper
from everlearn.papers.page import Shown, draw, look_at
from everlearn.runs.sweep import Capacity, play_all


def played(paper: Paper, name: str, folder: Path) -> Shown:
    """What its records say, once every claim was judged and the figure was drawn."""
    (exhibit,) = (each for each in paper.exhibits if each.name == name)
    scale = paper.scale("smoke")
    for _ in play_all(exhibit.jobs(scale, folder), capacity=Capacity(workers=1)):
        pass
    shown = look_at(exhibit, scale, folder)
    assert [verdict is not None for verdict in shown.verdicts] == [True] * len(exhibit.claims)
    (folder / "figures").mkdir()
    drawn = draw(shown, folder)
    assert drawn is not None
    assert drawn.read_text().startswith("<?xml")
    return shown
