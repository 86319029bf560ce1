"""Reports: comparisons, figures, HTML pages, contact sheets and animations.

Takes records and tasks; gives tables and files. Opens records without torch; modules are loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.reports.animation import factor_animation
    from everlearn.reports.comparison import Comparison, compare
    from everlearn.reports.figures import captions, figure
    from everlearn.reports.html_report import html
    from everlearn.reports.image_sheets import Heading, contact_sheet, image_sheet, save

_MODULES = {
    "Comparison": "comparison",
    "Heading": "image_sheets",
    "captions": "figures",
    "compare": "comparison",
    "contact_sheet": "image_sheets",
    "factor_animation": "animation",
    "figure": "figures",
    "html": "html_report",
    "image_sheet": "image_sheets",
    "save": "image_sheets",
}

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


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"everlearn.reports.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'everlearn.reports' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
