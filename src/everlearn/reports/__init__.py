"""Reports: comparisons, figures, HTML pages, contact sheets and animations.

Turns records and tasks into tables and files. Reads records without torch; modules are imported on first use.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.reports.animation import factor_animation
    from everlearn.reports.comparison import Comparison, compare
    from everlearn.reports.figures import ENDINGS, Plot, captions, figure
    from everlearn.reports.html_report import html
    from everlearn.reports.image_sheets import Heading, check_image_path, contact_sheet, image_sheet, save
    from everlearn.reports.run_results import RunResults, cpu_seconds, phase_seconds, summary

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
