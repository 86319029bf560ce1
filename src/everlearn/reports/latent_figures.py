"""What figures show of doubt and of true factors: images between environments, and what codes stand for."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everlearn.evaluation.protocols.environments import USED
from everlearn.reports.axes import Part, blank, stacked
from everlearn.reports.run_figures import Drawing, Groups, NothingToDraw
from everlearn.reports.style import Look
from everlearn.rng import FloatArray
from everlearn.serialization import image_from_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase


Answer = Mapping[str, Any]
Pixels = npt.NDArray[np.uint8]

BLOCKS = 3
"""Environments beside each other."""
ROW, HEAD = 0.2, 0.34
"""Inches of a row of small images, and of what stands above them."""
GAP = 160
"""The gray between small images, which are seen before light and dark paper."""
SCORES = {"there": "look at home there", "off": "off their place (0 is best)", "kept": "keep their name"}
"""What is said of translated images, as a title says it."""


def traversal(groups: Groups, look: Look) -> "Figure":
    """What each latent stands for: it goes from -2 to 2 (left to right), all others stay."""
    return stacked(groups, look, TRAVERSAL)


def translation(groups: Groups, look: Look) -> "Figure":
    """Images of an environment (top row), and below as each environment shows them."""
    return stacked(groups, look, TRANSLATION)


def translated(groups: Groups, look: Look) -> "Figure":
    """What a judge says of images of one environment (row) as another shows them (column)."""
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
    """Inches that translated images of groups need."""
    told = answers(groups, "translation").values()
    return 0.2 + sum(
        0.2 + _lines(len(each["names"])) * (HEAD + ROW * (1 + len(each["names"]))) for each in told
    )


def draw_translation(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put translated images on a figure, a block for each environment they are of."""
    told = answers(groups, "translation")
    sizes = [_lines(len(each["names"])) * (HEAD + ROW * (1 + len(each["names"]))) for each in told.values()]
    parts = figure.subfigures(len(told), 1, height_ratios=sizes, squeeze=False)[:, 0]
    for part, (name, answer) in zip(parts, told.items(), strict=True):
        part.suptitle(name, x=0.01, ha="left", fontsize=8)
        rows = ["as it is", *(f"as {each}" for each in answer["names"])]
        blocks = _blocks(part, len(answer["names"]))
        for number, (axes, place) in enumerate(zip(blocks, answer["names"], strict=False)):
            image = image_from_json(answer["drawn"][number])
            _show(axes, spaced(image, len(rows), _n_columns(image, len(rows))))
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
    """One score of all images, from (row) and to (column) each environment; NaN where there is none."""
    rows = [[np.nan if cell[score] is None else cell[score] for cell in row] for row in answer["outcomes"]]
    return np.array(rows, np.float64)


def spaced(image: Pixels, n_rows: int, n_columns: int) -> Pixels:
    """An image of tiles with gray gaps between these and around, in red, green and blue.

    Example:
        >>> spaced(np.zeros((4, 6), np.uint8), 2, 3).shape
        (7, 10, 3)
    """
    height, width = image.shape[0] // n_rows, image.shape[1] // n_columns
    gap = max(1, height // 16)
    page = np.full((n_rows * (height + gap) + gap, n_columns * (width + gap) + gap, 3), GAP, np.uint8)
    colour = np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image
    for row, column in np.ndindex(n_rows, n_columns):
        tile = colour[row * height : (row + 1) * height, column * width : (column + 1) * width]
        y, x = gap + row * (height + gap), gap + column * (width + gap)
        page[y : y + height, x : x + width] = tile
    return page


def _lines(n_blocks: int) -> int:
    return math.ceil(n_blocks / BLOCKS)


def _n_columns(image: Pixels, n_rows: int) -> int:
    """How many square tiles stand in a row."""
    height, width = image.shape[:2]
    return int(width // (height // n_rows))


def _blocks(figure: "FigureBase", n: int) -> list["Axes"]:
    grid = figure.subplots(_lines(n), min(n, BLOCKS), squeeze=False).ravel().tolist()
    for axes in grid:
        axes.set_axis_off()
    return grid


def _show(axes: "Axes", image: Pixels) -> None:
    axes.set_axis_on()
    axes.imshow(image, interpolation="nearest")
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
    page = spaced(image_from_json(walks["images"]), len(latents), len(answer["values"]))
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
    """The image from which all walks begin, above their right end."""
    seed = spaced(image_from_json(walks["seed"]), 1, 1)
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


HEIGHT = 3.6
"""Inches that the doubt of one learner takes."""
DISENTANGLEMENT_SCORES = {
    "disentanglement": "D",
    "completeness": "C",
    "informativeness": "I",
    "mig": "MIG",
    "sap": "SAP",
}


def ambiguity(groups: Groups, look: Look) -> "Figure":
    """Images between two environments: how they are drawn, what batches of them are taken for, doubt."""
    return stacked(groups, look, AMBIGUITY)


def disentanglement(groups: Groups, look: Look) -> "Figure":
    """How much each code matters for each true factor, in every environment where factors vary."""
    told = answers(groups, "disentanglement")
    n = max(len(each["environments"]) for each in told.values())
    figure = blank(0.3 + len(told) * (0.75 + 0.2 * max(map(_n_factors, told.values()))))
    grid = figure.subplots(len(told), n, squeeze=False)
    for line, (name, answer) in zip(grid, told.items(), strict=True):
        for axes in line[len(answer["environments"]) :]:
            axes.set_visible(False)
        for axes, each in zip(line, answer["environments"], strict=False):
            _draw_importances(axes, each, look)
        line[0].set_ylabel(name)
    return figure


AMBIGUITY_FIGURES: dict[str, Drawing] = {"ambiguity": ambiguity, "disentanglement": disentanglement}


def ambiguity_height(groups: Groups) -> float:
    """Inches that the doubts of groups need."""
    return HEIGHT * len(answers(groups, "ambiguity"))


def draw_ambiguity(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put the doubts of each group on a figure, below each other."""
    told = answers(groups, "ambiguity")
    parts = figure.subfigures(len(told), 1, squeeze=False)[:, 0]
    for part, (name, answer) in zip(parts, told.items(), strict=True):
        words = f"{name}; light where a batch is taken for {answer['names'][0]}"
        part.suptitle(words, x=0.01, ha="left", fontsize=8)
        above, below = part.subfigures(2, 1, height_ratios=(1.25, 2), squeeze=False)[:, 0]
        _draw_examples(above.subplots(), answer)
        panels = below.subplots(1, 3, width_ratios=(1, 1, 1.1))
        for axes, context in zip(panels[:2], answer["names"], strict=True):
            _draw_decisions(axes, answer, context, look)
        panels[0].set_ylabel("mixed, of 64")
        _draw_doubt(panels[2], answer, look)


def _draw_examples(axes: "Axes", answer: Answer) -> None:
    first, second = answer["names"]
    image = image_from_json(answer["examples"])
    n_columns = image.shape[1] // (image.shape[0] // 3)
    page = spaced(image, 3, n_columns)
    axes.imshow(page, interpolation="nearest")
    places = (np.arange(3) + 0.5) * page.shape[0] / 3
    axes.set_yticks(places, ["mixed", f"drawn as {first}", f"drawn as {second}"], fontsize=6.5)
    along = (np.arange(n_columns) + 0.5) * page.shape[1] / n_columns
    axes.set_xticks(along, [f"{w:.2g}" for w in np.linspace(0, 1, n_columns)], fontsize=6.5)
    axes.set_xlabel(f"share of {first}, the rest is {second}")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_decisions(axes: "Axes", answer: Answer, context: str, look: Look) -> None:
    """Share of batches taken for the first, by weight and by how many of their images are mixed."""
    curves = [each for each in answer["curves"] if each["context"] in (context, "")]
    curves.sort(key=lambda each: int(each["n_mixed"]))
    table = np.array([each["decided"] for each in curves])
    ends = (0, 1, -0.5, len(curves) - 0.5)
    axes.imshow(table, origin="lower", aspect="auto", cmap=look.heat, vmin=0, vmax=1, extent=ends)
    flips = [(each["flip"]["point"], row) for row, each in enumerate(curves) if each["flip"]]
    axes.plot(*zip(*flips, strict=True) if flips else ((), ()), color="#d05a00", marker="o", linewidth=1)
    axes.set_yticks(range(len(curves)), [str(each["n_mixed"]) for each in curves], fontsize=6.5)
    axes.set_xlabel(f"share of {answer['names'][0]}")
    axes.set_title(f"beside {context}", fontsize=7)


def _draw_doubt(axes: "Axes", answer: Answer, look: Look) -> None:
    """How sure single images are, and how wide the latents are that one environment alone uses."""
    lines: list[tuple[str, Sequence[float] | None]] = [
        (f"chance of {answer['names'][0]}", answer["chances"]),
        *(
            (f"σ, only in {name}", told)
            for name, told in zip(answer["names"], answer["deviations"], strict=True)
        ),
    ]
    for number, (name, values) in enumerate(lines):
        if values is not None:
            axes.plot(answer["weights"], values, color=look.colour(number), label=name)
    alone = next(each for each in answer["curves"] if not each["context"])
    if alone["flip"]:
        axes.axvline(alone["flip"]["point"], color=look.ink, linestyle=":", linewidth=0.8)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=f"share of {answer['names'][0]}")
    axes.grid(axis="y")
    axes.set_title("single images", fontsize=7)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=6, handlelength=1.0)


def _n_factors(answer: Answer) -> int:
    return max(len(each["factors"]) for each in answer["environments"])


def _draw_importances(axes: "Axes", found: Answer, look: Look) -> None:
    table = np.array(found["importances"]).T
    axes.imshow(table, cmap=look.heat, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(found["factors"])), found["factors"], fontsize=6.5)
    axes.set_xlabel("code", fontsize=6.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    words = "  ".join(f"{short} {found[score]:.2f}" for score, short in DISENTANGLEMENT_SCORES.items())
    axes.set_title(f"{found['name']}\n{words}", fontsize=6.5)


AMBIGUITY = Part(ambiguity_height, draw_ambiguity)
