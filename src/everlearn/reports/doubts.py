"""What figures show of doubt and of true factors: pictures between environments, and what codes stand for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.evaluation.pictures import unpacked
from everlearn.reports.drawings import Drawing, Groups
from everlearn.reports.imaginings import answers, spaced
from everlearn.reports.looks import Look
from everlearn.reports.panels import Part, blank, stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

Answer = Mapping[str, Any]

HEIGHT = 3.6
"""Inches that the doubt of one learner takes."""
SCORES = {"disentanglement": "D", "completeness": "C", "informativeness": "I", "mig": "MIG", "sap": "SAP"}


def ambiguity(groups: Groups, look: Look) -> "Figure":
    """Pictures between two environments: how they are drawn, what batches of them are taken for, doubt."""
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


DRAWINGS: dict[str, Drawing] = {"ambiguity": ambiguity, "disentanglement": disentanglement}


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
    picture = unpacked(answer["examples"])
    n_columns = picture.shape[1] // (picture.shape[0] // 3)
    page = spaced(picture, 3, n_columns)
    axes.imshow(page, interpolation="nearest")
    places = (np.arange(3) + 0.5) * page.shape[0] / 3
    axes.set_yticks(places, ["mixed", f"drawn as {first}", f"drawn as {second}"], fontsize=6.5)
    along = (np.arange(n_columns) + 0.5) * page.shape[1] / n_columns
    axes.set_xticks(along, [f"{w:.2g}" for w in np.linspace(0, 1, n_columns)], fontsize=6.5)
    axes.set_xlabel(f"share of {first}, the rest is {second}")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_decisions(axes: "Axes", answer: Answer, context: str, look: Look) -> None:
    """Share of batches taken for the first, by weight and by how many of their pictures are mixed."""
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
    """How sure single pictures are, and how wide the latents are that one environment alone uses."""
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
    axes.set_title("single pictures", fontsize=7)
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
    words = "  ".join(f"{short} {found[score]:.2f}" for score, short in SCORES.items())
    axes.set_title(f"{found['name']}\n{words}", fontsize=6.5)


AMBIGUITY = Part(ambiguity_height, draw_ambiguity)
