"""The figure of multiple choice: who finds the same thing again, and who guesses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from everlearn import files
from everlearn.errors import BadInput, unknown
from everlearn.evaluation.protocols.multiple_choice import Choice
from everlearn.reports.axes import canvas, draw_lines, name_lines, share_axis
from everlearn.reports.figures import ENDINGS, check_path
from everlearn.reports.groups import Line
from everlearn.reports.style import LOOKS, Look, encoded, worn

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def choice_figure(found: Mapping[str, Sequence[Choice]], path: Path | str, *, look: str = "paper") -> Path:
    """Draw accuracy against the number of choices, with Wilson's intervals and the line of a guess.

    Args:
        found: for each name, how often it chose rightly.
        path: an .svg, .pdf or .png file to write; its folder must exist.
        look: "paper", or "dark" for slides.
    """
    path = Path(path)
    if look not in LOOKS:
        raise unknown("look", look, LOOKS)
    if not any(found.values()):
        raise BadInput("nobody has chosen anything yet, so there is nothing to draw; ask somebody first")
    check_path(path, ENDINGS)
    with worn(LOOKS[look]):
        data = encoded(drawn(found, LOOKS[look]), path.suffix[1:].lower())
    files.write(path, data)
    return path


def drawn(found: Mapping[str, Sequence[Choice]], look: Look) -> "Figure":
    """The figure itself."""
    figure, (axes,) = canvas(1)
    draw_lines(axes, [_line(choices) for choices in found.values()], look)
    counts = sorted({each.n_choices for choices in found.values() for each in choices})
    guess = np.linspace(counts[0], counts[-1])
    axes.plot(guess, 1 / guess, color=look.colour(len(found)), linewidth=1, linestyle="--", zorder=1)
    share_axis(axes, "accuracy")
    axes.set_xlabel("number of choices")
    axes.set_xticks(counts)
    name_lines(axes, [*found, "a guess"], look)
    return figure


def _line(choices: Sequence[Choice]) -> Line:
    shares = [each.accuracy for each in choices]
    columns = (
        [each.n_choices for each in choices],
        [share.mean for share in shares],
        [share.low for share in shares],
        [share.high for share in shares],
    )
    return Line(*(np.array(column, np.float64) for column in columns))
