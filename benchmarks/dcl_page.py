"""Tables of docs/dcl.md from stored records: `python -m benchmarks.dcl_page`."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import network_page
from benchmarks.dcl_runs import EXPERIMENTS, RESULTS, ROOT
from benchmarks.page_sections import replace_section
from benchmarks.table import Row
from everlearn.evaluation import wilson_interval
from everlearn.reports import figure
from everlearn.reports.run_results import RunResults, cpu_seconds
from everlearn.runs import Record

PAGES = (ROOT / "docs" / "dcl.md",)
BEGIN, END = "<!-- dcl {}: written by python -m benchmarks.dcl_page -->", "<!-- end of dcl {} -->"
ABLATION = RESULTS / "ablation.json"
PAPER = {
    "one-shot, 10 new classes alone": "1.00",
    "one-shot, 100 new classes alone": "0.98",
    "one-shot, 1,000 new classes alone": "0.95",
    "one-shot, 10 new classes beside the old ones": "0.96",
    "open set: area under the paper's curve": "0.92",
}
"""Results of the paper."""


def rows() -> Iterator[Row]:
    """All results whose records are stored."""
    long = _found("500-tasks")
    yield from _over_seeds("accuracy on all tasks seen, after 500 tasks", long, _last, 0.99)
    yield from _over_seeds("the lowest at any task after the 10th", long, _lowest, 0.98)
    yield from _over_seeds("each image seen once, after 100 tasks", long, lambda f: f.accuracy()[100], 0.985)
    timed = _found("500-tasks-seed-2")  # records of the other seeds are older and have no CPU time
    yield from _over_seeds(
        "CPU minutes for 500 tasks, evaluation included", timed, _cpu_minutes, 8, at_most=True
    )
    yield from _protocols(_found("200-tasks"))
    endless = _found("5000-tasks")
    yield from _over_seeds("accuracy after 5,000 tasks (50,000 classes)", endless, _last, 0.97)
    yield from _over_seeds("minutes for 5,000 tasks", endless, _minutes, 20, at_most=True)
    yield from _over_seeds(
        "last 500 of these tasks beside tasks 500 to 1,000", endless, _slowdown, 1.2, at_most=True
    )
    yield from _over_seeds("without factor labels, after 100 tasks", _found("without-factors"), _last, 0.95)
    yield from _over_seeds(
        "Omniglot: the same drawing, moved; one image a character", _found("omniglot"), _last, 0.95
    )
    yield from _over_seeds(
        "3,786 emoji: the same drawing, moved; one image each", _found("emoji"), _last, 0.95
    )


def _found(name: str) -> list[RunResults]:
    """The records of an experiment, one per stored seed."""
    names = [experiment.name for experiment in EXPERIMENTS if experiment.name.startswith(name)]
    return [RunResults.from_record(Record(RESULTS / each)) for each in names if (RESULTS / each).is_dir()]


def _over_seeds(
    what: str,
    found: Sequence[RunResults],
    measure: Callable[[RunResults], float],
    goal: float,
    *,
    at_most: bool = False,
) -> Iterator[Row]:
    values = [measure(each) for each in found]
    if values:
        spread = (min(values), max(values)) if len(values) > 1 else None
        n_correct, n_images = (sum(counts) for counts in zip(*(each.tested for each in found), strict=True))
        counts = (n_correct, n_images) if measure is _last else None
        yield Row(what, mean(values), "", spread, goal, at_most, counts)


def _last(found: RunResults) -> float:
    return list(found.accuracy().values())[-1]


def _lowest(found: RunResults) -> float:
    return min(value for n_tasks, value in found.accuracy().items() if n_tasks > 10)


def _minutes(found: RunResults) -> float:
    return found.cost.seconds / 60


def _cpu_minutes(found: RunResults) -> float:
    return (cpu_seconds(found.record) or math.nan) / 60


def _slowdown(found: RunResults) -> float:
    seconds = [row["seconds"] for row in found.record.seconds()]
    return float(sum(seconds[-500:]) / sum(seconds[500:1000]))


def _protocols(found: Sequence[RunResults]) -> Iterator[Row]:
    for n, goal in ((10, 1.0), (100, 0.995), (1000, 0.985)):
        yield from _over_seeds(f"one-shot, {n:,} new classes alone", found, _shot(n, "standard"), goal)
    yield from _over_seeds(
        "one-shot, 10 new classes beside the old ones", found, _shot(10, "generalized"), 0.99
    )
    yield from _over_seeds("open set: area under the paper's curve", found, _area("acceptance"), 0.98)
    yield from _over_seeds(
        "open set: area under precision and recall", found, _area("precision_recall"), 0.98
    )
    yield from _over_seeds("open set: area under the ROC curve", found, _area("roc"), 0.98)


def _shot(n_new: int, kind: str) -> Callable[[RunResults], float]:
    def measure(found: RunResults) -> float:
        (shots,) = (each for each in found.protocol_results["one-shot"]["shots"] if each["n_new"] == n_new)
        return float(shots[kind])

    return measure


def _area(curve: str) -> Callable[[RunResults], float]:
    return lambda found: float(found.protocol_results["open-set"][curve]["area"])


def figures() -> str:
    """Results and goals, in Markdown."""
    lines = ["| | paper | here | goal | |", "|---|---|---|---|---|"]
    for row in rows():
        spread = f" ({row.spread[0]:.4g} to {row.spread[1]:.4g})" if row.spread else ""
        sign = "at most" if row.at_most else "at least"
        mark = "reached" if row.reached else "**missed**"
        paper, value = PAPER.get(row.what, ""), f"{row.value:.4g}{spread}{_counts(row)}"
        lines.append(f"| {row.what} | {paper} | {value} | {sign} {row.goal:g} | {mark} |")
    return "\n".join(lines)


def _counts(row: Row) -> str:
    """Correct answers of all seeds with Wilson's interval, after an accuracy at the end."""
    if row.counts is None:
        return ""
    found, (n_correct, n) = wilson_interval(*row.counts), row.counts
    return f"; {n_correct:,} of {n:,} [{found.low:.4f}, {found.high:.4f}]"


def commands() -> str:
    """The commands of all experiments."""
    lines = [command for experiment in EXPERIMENTS for command in experiment.commands]
    return "\n".join(["```bash", *lines, "```"])


def ablation() -> str:
    """Ablations, in Markdown."""
    if not ABLATION.exists():
        return ""
    found = json.loads(ABLATION.read_text())
    new = f"{found['new']:,} new classes"
    lines = [f"| without | accuracy | {new} | training TFLOP | ms per prediction |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_worth, found["ablations"])])


def _worth(row: dict[str, Any]) -> str:
    return (
        f"| {row['ablation']} | {row['average_accuracy']:.4f} | {row['new_classes']:.4f} "
        f"| {row['flops'] / 1e12:.2f} | {row['milliseconds']:.2f} |"
    )


TABLES = {
    "figures": figures,
    "commands": commands,
    "ablation": ablation,
    "network": network_page.ablation,
    "transfer": network_page.transfer,
    "nuisances": network_page.nuisances,
    "hidden": network_page.hidden,
}


def with_tables(text: str) -> str:
    """A page with updated tables."""
    for name, made in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name)
        if begin in text:
            text = replace_section(text, begin, end, made())
    return text


def draw(folder: Path = ROOT / "docs" / "figures") -> None:
    """Figures of the long runs."""
    for kind, name in (("accuracy", "500-tasks"), ("accuracy", "5000-tasks"), ("open-set", "200-tasks")):
        records = [found.record for found in _found(name)]
        if records:
            figure(kind, records, folder / f"dcl-{name}.svg")
    network_page.draw(folder)


if __name__ == "__main__":
    draw()
    for page in PAGES:
        page.write_text(with_tables(page.read_text()))
