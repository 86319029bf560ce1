"""What happened, made visible.

Takes images, records and score tables; gives contact sheets, animations, tables and figures. Knows nothing
of how a run is played.
"""

from everlearn.reports.motion import moving_portrait
from everlearn.reports.portraits import portrait
from everlearn.reports.sheets import Heading, save, sheet

__all__ = ["Heading", "moving_portrait", "portrait", "save", "sheet"]
