"""What happened, made visible.

Takes images, records and score tables; gives contact sheets, animations, tables, figures and one HTML page.
Knows nothing of how a run is played.
"""

from everlearn.reports.choosing import choice_figure
from everlearn.reports.comparison import Comparison, compare
from everlearn.reports.figures import FIGURES, figure
from everlearn.reports.looks import LOOKS
from everlearn.reports.motion import moving_portrait
from everlearn.reports.page import html
from everlearn.reports.portraits import portrait
from everlearn.reports.sheets import Heading, save, sheet

__all__ = [
    "FIGURES",
    "LOOKS",
    "Comparison",
    "Heading",
    "choice_figure",
    "compare",
    "figure",
    "html",
    "moving_portrait",
    "portrait",
    "save",
    "sheet",
]
