"""The figure of docs/photos.md: accuracy on sprites over the strength of each nuisance."""

from pathlib import Path

from benchmarks.photos.records import accuracy, load
from benchmarks.photos.sets import SETS
from benchmarks.photos.sprites import STRENGTHS
from everlearn import files
from everlearn.plotting import STYLES, FigureStyle, encode_figure, use_style
from everlearn.plotting.axes import Figure, canvas, unit_y_axis

NAME = "photos-sprites.svg"
X_LABELS = {"occluder": "share of the image", "clutter": "number of shapes"}


def curves(nuisance: str) -> dict[str, dict[float, float]]:
    """Of each method that was run: accuracy by strength, from 0, which is without the nuisance."""
    conditions = {0.0: "clean"} | {strength: f"{nuisance} {strength:g}" for strength in STRENGTHS[nuisance]}
    found = {}
    for method in SETS["sprites"].methods:
        stored = load("sprites", method)
        by_strength = {
            strength: [result for result in stored if result.condition == condition]
            for strength, condition in conditions.items()
        }
        found[method] = {strength: accuracy(some).mean for strength, some in by_strength.items() if some}
    return {method: points for method, points in found.items() if points}


def draw_sprites(style: FigureStyle) -> Figure:
    """One panel for each nuisance, one line for each method."""
    figure, (*panels, names) = canvas(len(STRENGTHS) + 1, columns=4, panel_height=1.9, share_y=True)
    methods = list(curves("noise"))
    for axes, nuisance in zip(panels, STRENGTHS, strict=True):
        for method, points in curves(nuisance).items():
            line = methods.index(method)
            axes.plot(
                list(points), list(points.values()), color=style.color(line), linestyle=style.linestyle(line),
                marker="o",
            )  # fmt: skip
        axes.grid(axis="y")
        unit_y_axis(axes, "accuracy" if axes in panels[::4] else "")
        axes.set_title(nuisance)
        axes.set_xlabel(X_LABELS.get(nuisance, "strength"))
    names.set_axis_off()
    for line, method in enumerate(methods):
        names.text(0, 0.9 - 0.13 * line, method, color=style.color(line), transform=names.transAxes)
    return figure


def write(folder: Path) -> None:
    """Write the figure."""
    with use_style(STYLES["light"]):
        files.write(folder / NAME, encode_figure(draw_sprites(STYLES["light"]), "svg"))
