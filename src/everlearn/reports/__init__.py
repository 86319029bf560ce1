"""What happened, made visible.

Takes images, records and score tables; gives contact sheets, animations, tables, figures and one HTML page.
Knows nothing of how a run is played.
"""

from everlearn.reports.animation import moving_portrait
from everlearn.reports.comparison import Comparison, compare
from everlearn.reports.contact_sheet import Heading, portrait, save, sheet
from everlearn.reports.figures import FIGURES, figure
from everlearn.reports.html_report import html
from everlearn.reports.multiple_choice_figure import choice_figure
from everlearn.reports.style import LOOKS

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
