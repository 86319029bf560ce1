"""Tables of docs/photos.md from stored results: `python -m benchmarks.photos.page`."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.page_sections import replace_section
from benchmarks.photos import curves, sensitivity
from benchmarks.photos.goals import rows
from benchmarks.photos.layers import VARIANTS
from benchmarks.photos.queries import PRODUCT
from benchmarks.photos.records import Result, accuracy, load
from benchmarks.photos.sets import SETS

PAGE = Path(__file__).parents[2] / "docs" / "photos.md"
BEGIN, END = "<!-- photos {}: written by python -m benchmarks.photos.page -->", "<!-- end of photos {} -->"
LAYERED = ("aloi", "grocery")
"""Sets that layers are compared on."""
HALVES = ("development", "development-plain")
"""Sets of which only halves are taught."""
HALF = "half taught"
"""The trial of the new user that also asks about things that were not taught."""

Column = tuple[str, str]
"""Trial and condition."""


def accuracies(name: str, methods: Sequence[str] | None = None) -> str:
    """A table of accuracies with 95 % intervals: a row for each method; the best of a column is bold."""
    found = _found(name, methods)
    every = [result for results in found.values() for result in results]
    columns = dict.fromkeys((result.trial, result.condition) for result in every if result.trial != HALF)
    best = {column: max(_mean(_of(results, column)) for results in found.values()) for column in columns}
    lines = _head(["", *(f"{trial}: {condition}" for trial, condition in columns)])
    rows = [
        f"| {method} | {' | '.join(_accuracy(_of(results, column), best[column]) for column in columns)} |"
        for method, results in found.items()
    ]
    return "\n".join([*lines, *rows]) if every else "Not run yet."


def curve(name: str) -> str:
    """A table of accuracies with a row for each condition, for sets of many conditions."""
    found = _found(name)
    conditions = dict.fromkeys(result.condition for results in found.values() for result in results)
    rows = []
    for condition in conditions:
        some = {
            method: [result for result in results if result.condition == condition]
            for method, results in found.items()
        }
        best = max(map(_mean, some.values()))
        rows.append(f"| {condition} | {' | '.join(_accuracy(each, best) for each in some.values())} |")
    return "\n".join([*_head(["", *found]), *rows]) if rows else "Not run yet."


def _found(name: str, methods: Sequence[str] | None = None) -> dict[str, list[Result]]:
    stored = {method: load(name, method) for method in methods or SETS[name].methods}
    return {method: results for method, results in stored.items() if results}


def _head(titles: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]


def _of(results: Sequence[Result], column: Column) -> list[Result]:
    return [result for result in results if (result.trial, result.condition) == column]


def _mean(results: Sequence[Result]) -> float:
    return accuracy(results).mean if results else 0.0


def _accuracy(results: Sequence[Result], best: float) -> str:
    if not results:
        return "-"
    found = accuracy(results)
    mark = "**" if found.mean == best else ""
    return f"{mark}{found.mean:.3f}{mark} ({found.low:.3f} to {found.high:.3f})"


def unknown(name: str) -> str:
    """Known things refused and unknown ones accepted, in percent, and AUROC: a row for each method."""
    found = _found(name)
    every = [result for results in found.values() for result in results if result.trial == HALF]
    conditions = dict.fromkeys(result.condition for result in every)
    lines = _head(["", *conditions])
    rows = [
        f"| {method} | {' | '.join(_errors(_of(results, (HALF, condition))) for condition in conditions)} |"
        for method, results in found.items()
    ]
    return "\n".join([*lines, *rows]) if every else "Not run yet."


def _errors(results: Sequence[Result]) -> str:
    if not results:
        return "-"
    refused = sum(result.n_refused for result in results) / sum(result.n_known for result in results)
    accepted = sum(result.n_accepted for result in results) / sum(result.n_unknown for result in results)
    auroc = mean(result.auroc for result in results if result.auroc is not None)
    return f"{100 * refused:.1f} / {100 * accepted:.1f}; {auroc:.3f}"


def data() -> str:
    """What each set asks, and the licence of its images."""
    lines = _head(["set", "what", "licence as stated"])
    return "\n".join([*lines, *(f"| {s.name} | {s.description} | {s.licence} |" for s in SETS.values())])


def goals() -> str:
    """Required accuracies, the product and the best baseline."""
    head = _head(["", "goal", "everlearn", "best baseline", ""])
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows())])


def runs() -> str:
    """How often the product was asked in each set, and with which version."""
    rows = []
    for name in SETS:
        for method in (each for each in SETS[name].methods if each.startswith(PRODUCT)):
            results = load(name, method)
            for found in dict.fromkeys(result.version for result in results):
                same = [result for result in results if result.version == found]
                seeds = ", ".join(str(seed) for seed in sorted({result.seed for result in same}))
                n = sum(result.n_known + result.n_unknown for result in same)
                rows.append(f"| {name} | {method} | {found or 'earlier'} | {seeds} | {n:,} |")
    return "\n".join([*_head(["set", "method", "version", "seeds", "queries"]), *rows])


def tables() -> dict[str, str]:
    """The tables of the page by name."""
    layers = {f"layers of {name}": accuracies(name, VARIANTS) for name in LAYERED}
    return {
        "runs": runs(),
        "goals": goals(),
        "data": data(),
        "unknown": unknown("new-user"),
        "sensitivity": sensitivity.table(),
        **{name: accuracies(name) for name in SETS},
        **layers,
        "sprites": curve("sprites"),
        **{name: unknown(name) for name in HALVES},
    }


def with_tables(text: str) -> str:
    """The page with updated tables."""
    for name, table in tables().items():
        text = replace_section(text, BEGIN.format(name), END.format(name), table)
    return text


def write(page: Path = PAGE) -> None:
    """Update the page and its figure."""
    if PRODUCT in _found("sprites"):
        curves.write(page.parent / "figures")
    page.write_text(with_tables(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
