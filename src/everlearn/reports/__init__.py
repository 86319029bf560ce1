"""Reports: comparisons, figures, HTML pages, contact sheets and animations.

Takes records and tasks; gives tables and files. Opens records without torch.
"""

from everlearn.reports.animation import factor_animation
from everlearn.reports.comparison import Comparison, compare
from everlearn.reports.contact_sheet import Heading, contact_sheet, image_sheet, save
from everlearn.reports.figures import captions, figure
from everlearn.reports.html_report import html

__all__ = [
    "Comparison",
    "Heading",
    "captions",
    "compare",
    "contact_sheet",
    "factor_animation",
    "figure",
    "html",
    "image_sheet",
    "save",
]
