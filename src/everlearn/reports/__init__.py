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

__all__ = [
    "Comparison", "Heading", "captions", "compare", "contact_sheet", "factor_animation", "figure", "html",
    "image_sheet", "save",
]  # fmt: skip

_MODULES = {
    "animation": ("factor_animation",),
    "comparison": ("Comparison", "compare"),
    "figures": ("captions", "figure"),
    "html_report": ("html",),
    "image_sheets": ("Heading", "contact_sheet", "image_sheet", "save"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
