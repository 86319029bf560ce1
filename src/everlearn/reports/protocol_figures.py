"""What figures show of questions that were put to learners: `everlearn protocol` asks them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from everlearn.evaluation import Interval
from everlearn.reports.axes import broken, canvas, draw_lines, draw_pairs, name_lines, share_axis
from everlearn.reports.formatting import amount, digits, duration, share
from everlearn.reports.groups import interval
from everlearn.reports.run_figures import FACTORS, Drawing, Groups, NothingToDraw
from everlearn.reports.run_results import Findings, Points
from everlearn.reports.style import Look
from everlearn.serialization import image_from_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PAPER = "Dziadzio et al. 2023"
PAPER_AREA = 0.92
PAPER_SHOTS = {"standard": (10, 1.00), "generalised": (10, 0.96)}
"""Of their table the cells that our copy of the paper shows beyond doubt, after 200 tasks."""


class Trade(NamedTuple):
    """A curve of the open-set protocol: its name in answers, a title, both axes, and how it is drawn."""

    name: str
    title: str
    x: str
    y: str
    style: Literal["default", "steps-pre"] = "default"


TRADES = (
    Trade("acceptance", "the paper's curve", "new rejected", "known accepted"),
    Trade("precision_recall", "precision and recall", "recall of new", "precision", "steps-pre"),
    Trade("roc", "ROC", "known called new", "new found"),
)
MISTAKES = 8
"""Shown in a row."""
ROWS = (("image", "shown"), ("normalised", "normalised"), ("exemplar", "taken for"))
"""What is shown of a mistake, from top to bottom."""
SHOTS = {
    "standard": "only new classes known",
    "generalised": "beside all old ones",
    "old": "old classes meanwhile",
}


def openset(groups: Groups, look: Look) -> "Figure":
    """How well classes never met are told from known ones, with the area under each curve."""
    _check_asked(groups, "openset")
    n_names = sum(bool(_answers(each.runs, "openset")) for each in groups)
    figure, panels = canvas(len(TRADES), columns=len(TRADES), panel_height=2.3 + 0.14 * n_names)
    for axes, trade in zip(panels, TRADES, strict=True):
        for number, each in enumerate(groups):
            found = [answer[trade.name] for answer in _answers(each.runs, "openset")]
            area = share(interval([curve["area"] for curve in found]))
            for seed, curve in enumerate(found):
                (line,) = axes.plot(curve["x"], curve["y"], color=look.colour(number), drawstyle=trade.style)
                line.set(linestyle=look.dash(number), label=f"{area}  {each.short}" if not seed else None)
        _draw_chance(axes, trade, groups, look)
        _finish_trade(axes, trade)
    return figure


def oneshot(groups: Groups, look: Look) -> "Figure":
    """Accuracy on new classes that were shown in one image each, by how many there are."""
    _check_asked(groups, "oneshot")
    figure, panels = canvas(len(SHOTS), columns=len(SHOTS), panel_height=2.2, share_y=True)
    for axes, (name, title) in zip(panels, SHOTS.items(), strict=True):
        lines = [each.line(partial(_shots, name)) for each in groups]
        draw_lines(axes, lines, look)
        counts = sorted({int(x) for line in lines for x in line.x})
        _draw_paper(axes, name, counts, look)
        if name == "standard":
            axes.plot(counts, [1 / n for n in counts], color=look.ink, linestyle=":", linewidth=0.8)
            axes.annotate("chance", (counts[0], 1 / counts[0]), xytext=(0, 3), textcoords="offset points")
        axes.set_xscale("log")
        axes.set_xticks(counts, [f"{n:,}" for n in counts])
        axes.minorticks_off()
        axes.set_xlabel("new classes")
        axes.set_title(title)
    share_axis(panels[0], "accuracy")
    name_lines(panels[-1], [each.short for each in groups], look)
    return figure


def mistakes(groups: Groups, look: Look) -> "Figure":
    """Things of classes never met that were accepted, and what they were taken for."""
    _check_asked(groups, "openset")
    answers = [answer for each in groups for answer in _answers(each.runs, "openset")]
    told = [mistake for answer in answers for mistake in answer.get("mistakes", ())]
    if not told:
        raise NothingToDraw("nothing new was accepted, so there is no mistake to show")
    worst = sorted(told, key=lambda mistake: float(mistake["novelty"]))[:MISTAKES]
    figure, panels = canvas(len(ROWS) * len(worst), columns=len(worst), panel_height=0.62)
    for number, axes in enumerate(panels):
        row, column = divmod(number, len(worst))
        name, words = ROWS[row]
        image = image_from_json(worst[column][name])
        axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        if not column:
            axes.set_ylabel(words, rotation=0, ha="right", va="center", color=look.ink)
    return figure


def transfer(groups: Groups, look: Look) -> "Figure":
    """Factor combinations that were trained beside those that nobody trained."""
    _check_asked(groups, "transfer")
    rows = [_answers(each.runs, "transfer") for each in groups]
    estimated = {name for row in rows for answer in row for name in answer["trained_errors"]}
    sides = ("trained", "held_out")
    shown: dict[str, tuple[Pair, Form]] = {"accuracy": (_pick(*sides), share)}
    for factor in (name for name in FACTORS if name in estimated):
        pair = _pick(*(f"{side}_errors.{factor}" for side in sides))
        shown["error in " + FACTORS[factor].replace(" ", "\n", 1)] = (pair, digits)
    return _pairs(groups, rows, shown, ("trained", "held out"), look)


def online(groups: Groups, look: Look) -> "Figure":
    """Every image seen once beside several passes over each task."""
    _check_asked(groups, "online")
    rows = [_answers(each.runs, "online") for each in groups]
    forms: dict[str, tuple[str, Form]] = {
        "accuracy": ("average_accuracy", share),
        "forgetting": ("forgetting", share),
        "time": ("seconds", duration),
        "images": ("images", amount),
    }
    shown = {
        title: (_pick(f"online.{measure}", f"offline.{measure}"), form)
        for title, (measure, form) in forms.items()
    }
    return _pairs(groups, rows, shown, ("online", "offline"), look)


DRAWINGS: dict[str, Drawing] = {
    "openset": openset,
    "mistakes": mistakes,
    "oneshot": oneshot,
    "transfer": transfer,
    "online": online,
}

Answers = Sequence[Mapping[str, Any]]
Pair = Callable[[Answers], tuple[Interval | None, Interval | None]]
Form = Callable[[Interval | None], str]


def _answers(runs: Sequence[Findings], question: str) -> Answers:
    return [run.answers[question] for run in runs if question in run.answers]


def _check_asked(groups: Groups, question: str) -> None:
    if not any(_answers(each.runs, question) for each in groups):
        raise NothingToDraw(
            "none of these runs was asked since it last changed; "
            f"ask with `everlearn protocol {question} RECORD`"
        )


def _draw_chance(axes: "Axes", trade: Trade, groups: Groups, look: Look) -> None:
    """What guessing gives; for precision that is the share of new images."""
    ends = {"acceptance": (1.0, 0.0), "roc": (0.0, 1.0)}.get(trade.name)
    if ends is None:
        first = next(answer for each in groups for answer in _answers(each.runs, "openset"))
        ends = (first["n_new"] / (first["n_new"] + first["n_known"]),) * 2
    axes.plot((0, 1), ends, color=look.ink, linestyle=":", linewidth=0.8, label="chance")


def _finish_trade(axes: "Axes", trade: Trade) -> None:
    if trade.name == "acceptance":
        axes.plot([], [], linestyle="", label=f"{PAPER_AREA:.2f}  {PAPER}")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=trade.x, ylabel=trade.y, title=trade.title)
    axes.grid(visible=True)
    axes.set_yticks([0, 0.5, 1])
    axes.set_box_aspect(1)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.55), frameon=False, fontsize=6, handlelength=1.0)


def _draw_paper(axes: "Axes", name: str, counts: Sequence[int], look: Look) -> None:
    n, accuracy = PAPER_SHOTS.get(name, (0, 0.0))
    if n in counts:
        axes.scatter([n], [accuracy], marker="D", facecolor="none", edgecolor=look.ink, s=22, zorder=3)
        axes.annotate(PAPER, (n, accuracy), xytext=(6, -9), textcoords="offset points", fontsize=6.5)


def _shots(name: str, run: Findings) -> Points:
    answers = _answers([run], "oneshot")
    return {each["n_new"]: each[name] for answer in answers for each in answer["shots"]}


def _pick(*paths: str) -> Pair:
    """Two numbers by their dotted names, over all answers that have them."""
    first, second = paths
    return lambda answers: (interval(list(_values(answers, first))), interval(list(_values(answers, second))))


def _values(answers: Answers, path: str) -> Iterator[float]:
    for answer in answers:
        value: Any = answer
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            yield float(value)


def _pairs(
    groups: Groups,
    rows: Sequence[Answers],
    shown: Mapping[str, tuple[Pair, Form]],
    sides: tuple[str, str],
    look: Look,
) -> "Figure":
    """A panel for each measure, with two bars for each group that was asked."""
    asked = [number for number, answers in enumerate(rows) if answers]
    figure, panels = canvas(
        len(shown), columns=len(shown), panel_height=0.5 + 0.34 * len(asked), share_y=True
    )
    for axes, (title, (pair, form)) in zip(panels, shown.items(), strict=True):
        full = 1.0 if title == "accuracy" else None
        draw_pairs(axes, title, {n: pair(rows[n]) for n in asked}, form, look, full=full)
    panels[0].set_yticks(range(len(asked)), [broken(groups[n].short) for n in asked])
    panels[0].invert_yaxis()
    words = f"full: {sides[0]}, pale: {sides[1]}"
    panels[0].text(0, -0.04, words, transform=panels[0].transAxes, va="top", fontsize=6.5)
    return figure
