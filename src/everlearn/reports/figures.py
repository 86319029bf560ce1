"""Figures of records: of runs, of probes and of protocols, by name, into files."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import unknown
from everlearn.evaluation import protocols
from everlearn.plotting import STYLES, FigurePart, FigureStyle, draw_parts, encode_figure, use_style
from everlearn.plotting.axes import Figure, FigureBase, NothingToDraw
from everlearn.reports.groups import group
from everlearn.reports.probe_figures import PROBES
from everlearn.reports.run_figures import RUN_FIGURES, Drawing, Groups
from everlearn.runs.run_record import Record

ENDINGS = (".svg", ".pdf", ".png")


@cache
def captions() -> Mapping[str, str]:
    """All figures, and what each shows.

    Example:
        >>> captions()["accuracy"]
        'Average accuracy on all tasks seen so far, after each task.'
    """
    runs = {name: inspect.getdoc(draw) or name for name, draw in RUN_FIGURES.items()}
    parts = {
        name: protocols.get(protocol).figures[name].caption
        for name, protocol in protocols.figure_names().items()
    }
    return {**runs, "probes": PROBES.caption, **parts}


def figure(name: str, records: Sequence[Record], path: Path | str, *, style: str = "light") -> Path:
    """Draw a figure of records, one of `captions()`, in "light" or "dark"; equal records give equal bytes.

    Runs that differ in their seeds only become one series. The path ends in .svg, .pdf or .png; its folder
    must exist.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> figure("accuracy", [record], f"{folder}/accuracy.svg").read_bytes()[:5]
        b'<?xml'
    """
    path = Path(path)
    drawing = get_drawing(name)
    if style not in STYLES:
        raise unknown("style", style, STYLES)
    files.check_output(path, ENDINGS)
    return write(drawing, group(records), path, STYLES[style])


@dataclass(frozen=True)
class Plot:
    """A figure that notebooks show and `save` writes to a file.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> record.plot("accuracy").save(f"{folder}/accuracy.png").name
        'accuracy.png'
    """

    name: str
    figure: Figure

    def save(self, path: Path | str) -> Path:
        """Write the figure to a .svg, .pdf or .png file."""
        path = Path(path)
        files.check_output(path, ENDINGS)
        files.write(path, encode_figure(self.figure, path.suffix[1:].lower()))
        return path

    def _repr_svg_(self) -> str:
        return encode_figure(self.figure, "svg").decode()


def plot(name: str, groups: Groups, *, style: str = "light") -> Plot:
    """A figure of groups of records, one of `captions()`, as an object."""
    if style not in STYLES:
        raise unknown("style", style, STYLES)
    with use_style(STYLES[style]):
        return Plot(name, get_drawing(name)(groups, STYLES[style]))


def get_drawing(name: str) -> Drawing:
    """The function that draws the figure of a name."""
    if name in RUN_FIGURES:
        return RUN_FIGURES[name]
    if name not in captions():
        raise unknown("figure", name, captions())
    return drawing_of_parts(name)


def drawing_of_parts(*names: str) -> Drawing:
    """The function that draws figures of probes and protocols below each other."""
    parts = [PROBES if name == "probes" else protocol_part(name) for name in names]

    def draw(groups: Groups, style: FigureStyle) -> Figure:
        return draw_parts(groups, style, *parts)

    return draw


def protocol_part(name: str) -> FigurePart[Groups]:
    """A figure of a protocol as a part of a figure of groups."""
    protocol = protocols.get(protocols.figure_names()[name])
    part = protocol.figures[name]

    def draw(figure: FigureBase, groups: Groups, style: FigureStyle) -> None:
        part.draw(figure, _results(protocol, groups), style)

    return FigurePart(lambda groups: part.height(_results(protocol, groups)), draw)


def _results(protocol: type[protocols.Protocol[Any]], groups: Groups) -> list[protocols.ResultGroup[Any]]:
    """The results of a protocol for each group."""
    found = [
        protocols.ResultGroup(
            each.short, [protocol.result.from_json(r) for r in each.results_of(protocol.name)]
        )
        for each in groups
    ]
    if not any(each.results for each in found):
        raise NothingToDraw(
            "none of these records has current results of this protocol; "
            f"run `everlearn evaluate {protocol.name} RECORD`"
        )
    return found


def write(drawing: Drawing, groups: Groups, path: Path, style: FigureStyle) -> Path:
    """Draw groups in a style into a file."""
    with use_style(style):
        data = encode_figure(drawing(groups, style), path.suffix[1:].lower())
    files.write(path, data)
    return path
