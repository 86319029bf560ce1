"""Figure styles (light and dark), and encoding of figures as files with reproducible bytes."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINESTYLES = ("-", "--", ":", "-.")
DOTS_PER_INCH = 200
METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
"""Removes dates and versions from files."""
CLIP_PATH = re.compile(r'<clipPath id="(\w+)">\s*<rect x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)"/>')
PAGE_COLORS = {"muted": ("#59616c", "#a3acb8"), "surface": ("#f4f6f8", "#1c2128")}
"""Further colors of HTML pages, light and dark."""


@dataclass(frozen=True)
class FigureStyle:
    """The colors of a figure."""

    background: str
    foreground: str  # text and axes
    faint: str  # grids
    colors: tuple[str, ...]  # of series; distinguishable by most people, with enough contrast for text
    colormap: str = "viridis"  # for scores from 0 to 1

    def color(self, index: int) -> str:
        """The color of a series."""
        return self.colors[index % len(self.colors)]

    def linestyle(self, index: int) -> str:
        """The line style of a series: solid until the colors repeat."""
        return LINESTYLES[index // len(self.colors) % len(LINESTYLES)]

    @property
    def roles(self) -> dict[str, str]:
        """All colors by the names of CSS variables."""
        lines = {f"line-{index}": color for index, color in enumerate(self.colors)}
        return {"background": self.background, "foreground": self.foreground, "faint": self.faint, **lines}


STYLES = {
    "light": FigureStyle(
        background="#ffffff",
        foreground="#1f2328",
        faint="#d5d9df",
        colors=("#0072b2", "#d05a00", "#00835f", "#a8508a", "#87691a", "#0e86a6", "#b3123f", "#5f6670"),
    ),
    "dark": FigureStyle(
        background="#14171c",
        foreground="#e6e9ee",
        faint="#3a414b",
        colors=("#5ab4f0", "#ff8c4b", "#3ecf9f", "#e09ac6", "#d9b84a", "#4fd0e8", "#ff6f91", "#a9b1bc"),
    ),
}


@contextmanager
def use_style(style: FigureStyle) -> Iterator[None]:
    """Draw in a style, independent of the user's matplotlib settings."""
    from matplotlib import style as styles

    with styles.context(["default", _settings(style)]):
        yield


def encode_figure(figure: "Figure", file_format: str) -> bytes:
    """A figure as an svg, pdf or png file; equal figures give equal bytes."""
    file = io.BytesIO()
    figure.savefig(file, format=file_format, dpi=DOTS_PER_INCH, metadata=METADATA[file_format])
    return _stable_ids(file.getvalue().decode()).encode() if file_format == "svg" else file.getvalue()


def inline_svg(figure: "Figure") -> str:
    """A figure as an SVG element with text and with CSS variables as colors."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}):
        svg = encode_figure(figure, "svg").decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r" <metadata>.*?</metadata>\n", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    for role, color in STYLES["light"].roles.items():
        svg = svg.replace(color, f"var(--{role})")
    return svg


def css_variables() -> str:
    """A style sheet with all colors as variables, light and dark."""
    light, dark = STYLES["light"].roles, STYLES["dark"].roles
    pairs = {role: (light[role], dark[role]) for role in light} | PAGE_COLORS
    lines = [f"  --{role}: light-dark({day}, {night});\n" for role, (day, night) in pairs.items()]
    return ":root {\n" + "".join(lines) + "}\n"


def _stable_ids(svg: str) -> str:
    """Name clip paths after their rounded coordinates.

    Matplotlib hashes all digits, of which the last differ between layout runs.
    """
    for name, *place in CLIP_PATH.findall(svg):
        svg = svg.replace(name, "frame-" + "-".join(place))
    return svg


def _settings(style: FigureStyle) -> dict[str, object]:
    backgrounds = ("figure.facecolor", "savefig.facecolor", "axes.facecolor")
    foregrounds = (
        "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "text.color", "xtick.color", "ytick.color",
    )  # fmt: skip
    return {
        **dict.fromkeys(backgrounds, style.background),
        **dict.fromkeys(foregrounds, style.foreground),
        "grid.color": style.faint,
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.titlelocation": "left",
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.4,
        "lines.markersize": 3,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "pdf.fonttype": 42,  # journals refuse type 3 fonts
        "svg.hashsalt": "everlearn",
    }
