"""What figures show of what learners imagine: walks along latents, and pictures as they look elsewhere."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray
from everlearn.evaluation.pictures import unpacked
from everlearn.evaluation.protocols.views import USED
from everlearn.reports.drawings import Drawing, Groups, NothingToDraw
from everlearn.reports.looks import Look
from everlearn.reports.panels import Part, stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

Answer = Mapping[str, Any]
Pixels = npt.NDArray[np.uint8]

BLOCKS = 3
"""Environments beside each other."""
ROW, HEAD = 0.2, 0.34
"""Inches of a row of small pictures, and of what stands above them."""
GAP = 160
"""The gray between small pictures, which are seen before light and dark paper."""
SCORES = {"there": "look at home there", "off": "off their place (0 is best)", "kept": "keep their name"}
"""What is said of translated pictures, as a title says it."""


def traversal(groups: Groups, look: Look) -> "Figure":
    """What each latent stands for: it goes from -2 to 2 (left to right), all others stay."""
    return stacked(groups, look, TRAVERSAL)


def translation(groups: Groups, look: Look) -> "Figure":
    """Pictures of an environment (top row), and below as each environment shows them."""
    return stacked(groups, look, TRANSLATION)


def translated(groups: Groups, look: Look) -> "Figure":
    """What a judge says of pictures of one environment (row) as another shows them (column)."""
    return stacked(groups, look, TRANSLATED)


DRAWINGS: dict[str, Drawing] = {
    "traversal": traversal,
    "translation": translation,
    "translated": translated,
}


def answers(groups: Groups, question: str) -> dict[str, Answer]:
    """What the first run of each group that was asked answered."""
    told = {each.short: each.runs[0].answers.get(question) for each in groups}
    found = {name: answer for name, answer in told.items() if answer is not None}
    if not found:
        raise NothingToDraw(
            "none of these runs was asked since it last changed; "
            f"ask with `everlearn protocol {question} RECORD`"
        )
    return found


def traversal_height(groups: Groups) -> float:
    """Inches that the walks of groups need."""
    heights = [
        _lines(len(each["walks"])) * (HEAD + ROW * (1 + len(each["latents"])))
        for each in answers(groups, "traversal").values()
    ]
    return 0.3 + sum(0.2 + height for height in heights)


def draw_traversal(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put walks along latents on a figure, a block for each environment, below each other for each group."""
    told = answers(groups, "traversal")
    sizes = [_lines(len(each["walks"])) * (HEAD + ROW * (1 + len(each["latents"]))) for each in told.values()]
    parts = figure.subfigures(len(told), 1, height_ratios=sizes, squeeze=False)[:, 0]
    for part, (name, answer) in zip(parts, told.items(), strict=True):
        spare = f"; {answer['n_spare']} latents say nothing anywhere" if answer["n_spare"] else ""
        part.suptitle(f"{name}{spare}", x=0.01, ha="left", fontsize=8)
        for axes, walks in zip(_blocks(part, len(answer["walks"])), answer["walks"], strict=False):
            _draw_walks(axes, answer, walks, look)
    figure.legend(*_marks(look), loc="outside lower left", ncols=3, frameon=False, handlelength=0.8)


def translation_height(groups: Groups) -> float:
    """Inches that translated pictures of groups need."""
    told = answers(groups, "translation").values()
    return 0.2 + sum(
        0.2 + _lines(len(each["names"])) * (HEAD + ROW * (1 + len(each["names"]))) for each in told
    )


def draw_translation(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put translated pictures on a figure, a block for each environment they are of."""
    told = answers(groups, "translation")
    sizes = [_lines(len(each["names"])) * (HEAD + ROW * (1 + len(each["names"]))) for each in told.values()]
    parts = figure.subfigures(len(told), 1, height_ratios=sizes, squeeze=False)[:, 0]
    for part, (name, answer) in zip(parts, told.items(), strict=True):
        part.suptitle(name, x=0.01, ha="left", fontsize=8)
        rows = ["as it is", *(f"as {each}" for each in answer["names"])]
        blocks = _blocks(part, len(answer["names"]))
        for number, (axes, place) in enumerate(zip(blocks, answer["names"], strict=False)):
            picture = unpacked(answer["drawn"][number])
            _show(axes, spaced(picture, len(rows), _n_columns(picture, len(rows))))
            axes.set_title(place, fontsize=7)
            if number % BLOCKS == 0:
                _name_rows(axes, rows)


def scores_height(groups: Groups) -> float:
    """Inches that the scores of translations of groups need."""
    told = answers(groups, "translation").values()
    return 0.5 + sum(0.9 + 0.24 * len(each["names"]) for each in told)


def draw_scores(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put tables of all scores on a figure, a row of tables for each group."""
    told = answers(groups, "translation")
    grid = figure.subplots(len(told), len(SCORES), squeeze=False, sharey="row")
    for line, (name, answer) in zip(grid, told.items(), strict=True):
        for axes, (score, title) in zip(line, SCORES.items(), strict=True):
            _draw_scores(axes, score_table(answer, score), answer["names"], look, is_error=score == "off")
            axes.set_title(title, fontsize=7)
        line[0].set_ylabel(name)
        line[0].set_yticks(range(len(answer["names"])), answer["names"], fontsize=6.5)


def score_table(answer: Answer, score: str) -> FloatArray:
    """One score of all pictures, from (row) and to (column) each environment; NaN where there is none."""
    rows = [[np.nan if cell[score] is None else cell[score] for cell in row] for row in answer["outcomes"]]
    return np.array(rows, np.float64)


def spaced(picture: Pixels, n_rows: int, n_columns: int) -> Pixels:
    """A picture of tiles with gray gaps between these and around, in red, green and blue.

    Example:
        >>> spaced(np.zeros((4, 6), np.uint8), 2, 3).shape
        (7, 10, 3)
    """
    height, width = picture.shape[0] // n_rows, picture.shape[1] // n_columns
    gap = max(1, height // 16)
    page = np.full((n_rows * (height + gap) + gap, n_columns * (width + gap) + gap, 3), GAP, np.uint8)
    colour = np.repeat(picture[..., None], 3, axis=2) if picture.ndim == 2 else picture
    for row, column in np.ndindex(n_rows, n_columns):
        tile = colour[row * height : (row + 1) * height, column * width : (column + 1) * width]
        y, x = gap + row * (height + gap), gap + column * (width + gap)
        page[y : y + height, x : x + width] = tile
    return page


def _lines(n_blocks: int) -> int:
    return math.ceil(n_blocks / BLOCKS)


def _n_columns(picture: Pixels, n_rows: int) -> int:
    """How many square tiles stand in a row."""
    height, width = picture.shape[:2]
    return int(width // (height // n_rows))


def _blocks(figure: "FigureBase", n: int) -> list["Axes"]:
    grid = figure.subplots(_lines(n), min(n, BLOCKS), squeeze=False).ravel().tolist()
    for axes in grid:
        axes.set_axis_off()
    return grid


def _show(axes: "Axes", picture: Pixels) -> None:
    axes.set_axis_on()
    axes.imshow(picture, interpolation="nearest")
    axes.set(xticks=[], yticks=[], anchor="NW")
    axes.spines[:].set_visible(False)


def _name_rows(axes: "Axes", names: Sequence[str]) -> None:
    height = axes.get_images()[0].get_array().shape[0]  # type: ignore[union-attr]  # it was just drawn
    places = (np.arange(len(names)) + 0.5) * height / len(names) - 0.5
    axes.set_yticks(places, names, fontsize=6)
    axes.tick_params(length=0)


def _draw_walks(axes: "Axes", answer: Answer, walks: Answer, look: Look) -> None:
    """The walks in one environment, with a mark before each row that says what the latent is there."""
    latents = answer["latents"]
    page = spaced(unpacked(walks["pictures"]), len(latents), len(answer["values"]))
    _show(axes, page)
    _name_rows(axes, [str(latent) for latent in latents])
    axes.set_title(walks["name"], fontsize=7)
    height, width = page.shape[0] / len(latents), 0.025 * page.shape[1]
    for row, latent in enumerate(latents):
        kind = "closed" if not walks["open"][latent] else "used" if walks["nats"][latent] > USED else "open"
        axes.barh(
            (row + 0.5) * height,
            width,
            0.8 * height,
            left=-1.6 * width,
            color=_colours(look)[kind],
            linewidth=0,
        )
    axes.set_xlim(-1.8 * width, page.shape[1])
    _draw_seed(axes, walks, page.shape[1])


def _draw_seed(axes: "Axes", walks: Answer, width: int) -> None:
    """The picture from which all walks begin, above their right end."""
    seed = spaced(unpacked(walks["seed"]), 1, 1)
    size = seed.shape[1]
    axes.imshow(seed, interpolation="nearest", extent=(width - size, width, -2, -2 - size), clip_on=False)
    axes.set_ylim(axes.get_images()[0].get_array().shape[0], -2)  # type: ignore[union-attr]  # it is there


def _colours(look: Look) -> dict[str, str]:
    return {"used": look.colour(0), "open": look.faint, "closed": look.colour(1)}


def _marks(look: Look) -> tuple[list[Any], list[str]]:
    from matplotlib.patches import Patch

    words = {"used": "says something here", "open": "open, says nothing", "closed": "closed here"}
    return [Patch(color=_colours(look)[kind]) for kind in words], list(words.values())


def _draw_scores(
    axes: "Axes", table: FloatArray, names: Sequence[str], look: Look, *, is_error: bool
) -> None:
    """A table of scores; the better the lighter, whether that is high or low."""
    colours = f"{look.heat}_r" if is_error else look.heat
    highest = 0.3 if is_error else 1.0
    axes.imshow(table, cmap=colours, vmin=0, vmax=highest, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        if not np.isnan(value):
            light = (value / highest < 0.45) if is_error else (value > 0.55)
            ink = "#000000" if light else "#fefefe"  # on the colour map, so of no look
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color=ink)
    axes.set_xticks(range(len(names)), names, fontsize=6, rotation=45, ha="right", rotation_mode="anchor")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


TRAVERSAL = Part(traversal_height, draw_traversal)
TRANSLATION = Part(translation_height, draw_translation)
TRANSLATED = Part(scores_height, draw_scores)
