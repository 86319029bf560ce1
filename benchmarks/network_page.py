"""Tables and figures of the runs of `benchmarks.network_runs`, for docs/dcl.md."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.network_runs import FOLDER, HIDDEN, STRENGTHS, is_finished
from everlearn import files
from everlearn.evaluation.intervals import UNIT, Interval, mean_series, wilson_interval
from everlearn.plotting import STYLES, FigureStyle, encode_figure, use_style
from everlearn.plotting.axes import Axes, Figure, canvas, label_lines, unit_y_axis

Row = Mapping[str, Any]
Curves = Mapping[str, Sequence[Mapping[float, float]]]
"""For each line, the accuracies of each seed by x."""

ALONE = {
    "first task": "first task, 10 classes",
    "never trained": "1,000 classes never trained",
    "all seen": "all classes seen so far",
}
LEARNERS = {
    "dcl": "dcl",
    "moments": "moments + search",
    "true pose": "true pose + search",
    "nearest": "nearest mean image",
    "dcl, robust": "dcl, robust",
    "true pose, robust": "true pose + search, robust",
}
LINES = {
    "dcl": (0, "-"),
    "moments": (1, "-"),
    "true pose": (2, "-"),
    "nearest": (3, "-"),
    "dcl, robust": (0, "--"),
    "true pose, robust": (2, "--"),
}
"""Number of the colour, and style; a robust learner has the colour of the one that it is compared with."""
COMPARED = ("dcl", "dcl, robust", "true pose", "true pose, robust")
"""Learners behind occluders, by how much of an object is hidden."""
X_LABELS = {"clutter": "shapes", "occluder": "share of the image", "bending": "amplitude"}


def stored(experiment: str) -> list[Row]:
    """The results of all finished seeds of an experiment."""
    paths = sorted(FOLDER.glob(f"{experiment}-seed-*.json"))
    return [result for path in paths if is_finished(result := json.loads(path.read_text("utf-8")))]


def pooled(rows: Iterable[Row]) -> Interval:
    """Accuracy over all rows with Wilson's interval."""
    rows = list(rows)
    return wilson_interval(sum(row["correct"] for row in rows), sum(row["images"] for row in rows))


def ablation() -> str:
    """Accuracy on 5,000 classes by source of the poses, with and without search, in Markdown."""
    lines = [
        "| first estimate of the pose | with search | search off | ms | each seed, with search |",
        "|---|---|---|---|---|",
    ]
    results = stored("transfer")
    rows = [row for result in results for row in result["all"]]
    kinds = sorted({(row["estimator"], row["train_tasks"]) for row in rows})
    return "\n".join(
        lines + [_ablation_row(kind, [row for row in rows if _kind(row) == kind]) for kind in kinds]
    )


def summary() -> list[str]:
    """The most important results as rows of a table."""
    rows = [row for result in stored("transfer") for row in result["all"]]
    kinds = {"moments, search": ("moments", 0, True), "network alone": ("network", 500, False)}
    scores = [
        f"{name} {pooled(row for row in rows if (*_kind(row), row['search']) == kind).mean:.3f}"
        for name, kind in {"full": ("network", 500, True), **kinds}.items()
    ]
    return [f"| `dcl`: 5,000 classes after 500 tasks, by source of poses | {'; '.join(scores)} |"]


def _ablation_row(kind: tuple[str, int], rows: Sequence[Row]) -> str:
    on, off = ([row for row in rows if row["search"] is search] for search in (True, False))
    each = ", ".join(f"{row['correct'] / row['images']:.4f}" for row in on)
    milliseconds = sum(row["milliseconds"] for row in on) / len(on)
    return f"| {_name(*kind)} | {_score(on)} | {_score(off)} | {milliseconds:.1f} | {each} |"


def _kind(row: Row) -> tuple[str, int]:
    return row["estimator"], row["train_tasks"]


def _name(estimator: str, train_tasks: int) -> str:
    if estimator == "moments":
        return "image moments, no network"
    if not train_tasks:
        return "network, not trained"
    if train_tasks == 500:
        return "network, trained on all 500 tasks (`dcl`)"
    return f"network, frozen after {train_tasks} task{'s' if train_tasks > 1 else ''}"


def _score(rows: Sequence[Row]) -> str:
    found = pooled(rows)
    return f"{found.mean:.4f} [{found.low:.4f}, {found.high:.4f}]"


def transfer() -> str:
    """Accuracy of the network alone at some points, in Markdown."""
    results = stored("transfer")
    lines = [f"| tasks learned | {' | '.join(ALONE.values())} |", "|---" * (1 + len(ALONE)) + "|"]
    for n_tasks in (1, 5, 20, 100, 500):
        points = [point for result in results for point in result["points"] if point["tasks"] == n_tasks]
        if points:
            cells = (_score([point[name] for point in points]) for name in ALONE)
            lines.append(f"| {n_tasks} | {' | '.join(cells)} |")
    return "\n".join(lines)


def nuisances() -> str:
    """Accuracy of each learner at the strongest level of each nuisance, in Markdown."""
    rows = [row for result in stored("nuisances") for row in result["rows"]]
    lines = [f"| nuisance | {' | '.join(LEARNERS.values())} |", "|---" * (1 + len(LEARNERS)) + "|"]
    for nuisance, strengths in STRENGTHS.items():
        there = [row for row in rows if (row["nuisance"], row["strength"]) == (nuisance, strengths[-1])]
        if there:
            cells = (_score([row for row in there if row["learner"] == name]) for name in LEARNERS)
            lines.append(f"| {nuisance} {strengths[-1]:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def hidden() -> str:
    """Accuracy behind the largest occluder by the hidden share of an object, in Markdown."""
    strength = STRENGTHS["occluder"][-1]
    rows = [row for result in stored("nuisances") for row in result["rows"] if "hidden" in row]
    there = [row for row in rows if row["strength"] == strength]
    titles = " | ".join(LEARNERS[name] for name in COMPARED)
    lines = [f"| hidden share of the object | images | {titles} |", "|---" * (2 + len(COMPARED)) + "|"]
    for i, (low, high) in enumerate(zip((0, *HIDDEN), HIDDEN, strict=False)):
        parts = {name: [row["hidden"][i] for row in there if row["learner"] == name] for name in COMPARED}
        share = f"{low:g} to {high:g}" if high else "nothing"
        n_images = sum(part["images"] for part in parts["dcl"])
        lines.append(f"| {share} | {n_images} | {' | '.join(map(_score, parts.values()))} |")
    return "\n".join(lines)


def draw_transfer(style: FigureStyle) -> Figure:
    """The network alone, over the number of tasks learned."""
    results = stored("transfer")
    curves = {
        label: [
            {point["tasks"]: _accuracy(point[name]) for point in each["points"] if point["tasks"]}
            for each in results
        ]
        for name, label in ALONE.items()
    }
    figure, (axes,) = canvas(1)
    _lines(axes, curves, style)
    axes.set_xscale("log")
    axes.set_xticks(
        (1, 2, 5, 10, 20, 50, 100, 200, 500), ("1", "2", "5", "10", "20", "50", "100", "200", "500")
    )
    axes.minorticks_off()
    axes.set_xlabel("tasks learned")
    label_lines(axes, list(curves), style)
    return figure


def draw_nuisances(style: FigureStyle) -> Figure:
    """All learners over the strength of each nuisance."""
    results = stored("nuisances")
    shown = [name for name in STRENGTHS if any(row["nuisance"] == name for row in results[0]["rows"])]
    figure, (*panels, names) = canvas(len(shown) + 1, columns=3, panel_height=1.9, share_y=True)
    for axes, nuisance in zip(panels, shown, strict=True):
        seeds = [result["rows"] for result in results]
        curves = {
            label: [curve for rows in seeds if (curve := _by_strength(rows, nuisance, name))]
            for name, label in LEARNERS.items()
        }
        _lines(axes, curves, style, [LINES[name] for name in LEARNERS])
        axes.set_title(nuisance)
        axes.set_xlabel(X_LABELS.get(nuisance, "strength"))
        if axes not in panels[::3]:
            axes.set_ylabel("")
    names.set_axis_off()
    means = panels[0].get_lines()[: len(LEARNERS)]
    legend = names.legend(means, list(LEARNERS.values()), loc="upper left", frameon=False)
    legend.set_in_layout(False)  # it is wider than a panel
    return figure


def _by_strength(rows: Sequence[Row], nuisance: str, learner: str) -> dict[float, float]:
    there = [row for row in rows if (row["nuisance"], row["learner"]) == (nuisance, learner)]
    return {row["strength"]: _accuracy(row) for row in there}


def _accuracy(row: Row) -> float:
    return float(row["correct"] / row["images"])


def _lines(
    axes: Axes, curves: Curves, style: FigureStyle, lines: Sequence[tuple[int, str]] | None = None
) -> None:
    """The mean over seeds of each line, and thin lines for single seeds."""
    lines = lines or [(number, style.linestyle(number)) for number in range(len(curves))]
    for (number, kind), seeds in zip(lines, curves.values(), strict=True):
        mean = mean_series(seeds, UNIT)
        axes.plot(mean.x, mean.mean, color=style.color(number), linestyle=kind, marker="o")
    for (number, _), seeds in zip(lines, curves.values(), strict=True):
        for each in seeds if len(seeds) > 1 else ():
            axes.plot(list(each), list(each.values()), color=style.color(number), alpha=0.35, linewidth=0.6)
    axes.grid(axis="y")
    unit_y_axis(axes, "accuracy")


FIGURES: Mapping[str, Callable[[FigureStyle], Figure]] = {
    "transfer": draw_transfer,
    "nuisances": draw_nuisances,
}


def draw(folder: Path) -> None:
    """Write the figures of all experiments that have results."""
    for name, figure in FIGURES.items():
        if stored(name):
            with use_style(STYLES["light"]):
                files.write(folder / f"dcl-{name}.svg", encode_figure(figure(STYLES["light"]), "svg"))
