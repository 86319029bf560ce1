import matplotlib
import pytest
from matplotlib.figure import Figure

from everlearn.plotting import STYLES, encode_figure, use_style
from everlearn.plotting.style import inline_svg


def panel_at(x: float) -> bytes:
    with use_style(STYLES["light"]):
        figure = Figure()
        figure.add_axes((x, 0.1, 0.5, 0.5)).plot([0, 1])
        return encode_figure(figure, "svg")


def test_svg_does_not_depend_on_the_last_digits_of_positions() -> None:
    """The layout solver is not exact in its last digits."""
    assert panel_at(0.1) == panel_at(0.1 + 1e-12)
    assert b"frame-" in panel_at(0.1)
    assert panel_at(0.1) != panel_at(0.2)


def test_use_style_restores_matplotlib() -> None:
    before = dict(matplotlib.rcParams)
    with use_style(STYLES["dark"]):
        assert matplotlib.rcParams["axes.facecolor"] == STYLES["dark"].background
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("style", STYLES.values())
def test_line_styles_change_when_colors_repeat(style) -> None:  # type: ignore[no-untyped-def]
    n = len(style.colors)
    assert style.color(0) == style.color(n)
    assert style.linestyle(0) == style.linestyle(n - 1) != style.linestyle(n)


def test_inline_svg_uses_css_variables() -> None:
    with use_style(STYLES["light"]):
        figure = Figure()
        figure.subplots().plot([0, 1], color=STYLES["light"].color(0))
        svg = inline_svg(figure)
    assert svg.startswith("<svg")
    assert "var(--line-0)" in svg
    assert STYLES["light"].foreground not in svg
