"""Figures with matplotlib: styles, panels, lines, heatmaps, bars and image grids.

Turns numbers and images into figures and files with reproducible bytes; independent of runs and records.
Matplotlib is imported only when a figure is drawn.
"""

from everlearn.plotting.axes import FigurePart, PlotSeries, draw_parts
from everlearn.plotting.style import STYLES, FigureStyle, encode_figure, use_style

__all__ = ["STYLES", "FigurePart", "FigureStyle", "PlotSeries", "draw_parts", "encode_figure", "use_style"]
