"""How figures look: ink on paper, or light on dark; the same bytes for the same records."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DASHES = ("-", "--", ":", "-.")
DOTS_PER_INCH = 200
NO_DATES = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
"""What matplotlib would write into files about itself and the hour."""
FRAME = re.compile(r'<clipPath id="(\w+)">\s*<rect x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)"/>')
"""What a panel's lines end at, in an svg."""


@dataclass(frozen=True)
class Look:
    """The colours of a figure.

    Attributes:
        paper: behind everything.
        ink: words and axes.
        faint: grids and lesser words.
        colours: of groups, in order; told apart by most eyes, and dark (or light) enough to write in.
        heat: a colour map for scores from 0 to 1.
    """

    paper: str
    ink: str
    faint: str
    colours: tuple[str, ...]
    heat: str = "viridis"

    def colour(self, number: int) -> str:
        """The colour of a group."""
        return self.colours[number % len(self.colours)]

    def dash(self, number: int) -> str:
        """How its line is drawn: solid as long as there are colours left."""
        return DASHES[number // len(self.colours) % len(DASHES)]

    @property
    def roles(self) -> dict[str, str]:
        """Every colour by the name that a page may call it."""
        lines = {f"line-{number}": colour for number, colour in enumerate(self.colours)}
        return {"paper": self.paper, "ink": self.ink, "faint": self.faint, **lines}


LOOKS = {
    "paper": Look(
        paper="#ffffff",
        ink="#1f2328",
        faint="#d5d9df",
        colours=(
            "#0072b2",
            "#d05a00",
            "#00835f",
            "#a8508a",
            "#87691a",
            "#0e86a6",
            "#b3123f",
            "#5f6670",
        ),
    ),
    "dark": Look(
        paper="#14171c",
        ink="#e6e9ee",
        faint="#3a414b",
        colours=(
            "#5ab4f0",
            "#ff8c4b",
            "#3ecf9f",
            "#e09ac6",
            "#d9b84a",
            "#4fd0e8",
            "#ff6f91",
            "#a9b1bc",
        ),
    ),
}


@contextmanager
def worn(look: Look) -> Iterator[None]:
    """Draw in a look, whatever the user's own matplotlib settings are."""
    from matplotlib import style

    with style.context(["default", _settings(look)]):
        yield


def encoded(figure: "Figure", kind: str) -> bytes:
    """A figure as an svg, pdf or png file."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=DOTS_PER_INCH, metadata=NO_DATES[kind])
    return _steadied(file.getvalue().decode()).encode() if kind == "svg" else file.getvalue()


def _steadied(svg: str) -> str:
    """Frames named after where they are, in the digits that are written.

    Matplotlib names them after all digits, of which the last differ whenever panels are arranged again.
    """
    for name, *place in FRAME.findall(svg):
        svg = svg.replace(name, "frame-" + "-".join(place))
    return svg


def inlined(figure: "Figure") -> str:
    """A figure as part of a page, whose words are words and whose colours the page decides."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}):
        svg = encoded(figure, "svg").decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r" <metadata>.*?</metadata>\n", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    for role, colour in LOOKS["paper"].roles.items():
        svg = svg.replace(colour, f"var(--{role})")
    return svg


def _settings(look: Look) -> dict[str, object]:
    return {
        "figure.facecolor": look.paper,
        "savefig.facecolor": look.paper,
        "axes.facecolor": look.paper,
        "axes.edgecolor": look.ink,
        "axes.labelcolor": look.ink,
        "axes.titlecolor": look.ink,
        "text.color": look.ink,
        "xtick.color": look.ink,
        "ytick.color": look.ink,
        "grid.color": look.faint,
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
        "pdf.fonttype": 42,  # type 3 fonts are refused by many journals
        "svg.hashsalt": "everlearn",
    }
