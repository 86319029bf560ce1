"""`everlearn stream show`: one screen of words and one picture."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from everlearn.cli.answer import Answer, Screen
from everlearn.cli.mosaic import Mosaic
from everlearn.cli.reading import check_path
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.reports import moving_portrait, portrait, save
from everlearn.reports.sheets import check_format
from everlearn.streams.stream import Stream
from everlearn.streams.task import SPLITS, Task


def portray(stream: Stream, k: int | None, out: Path | None, *, moving: bool, screen: Screen) -> Answer:
    """Draw task k (the first if None) to a file and describe the stream."""
    path = check_path(out or Path(f"everlearn-{_kind(stream)}{'.gif' if moving else '.png'}"))
    check_format(path, moving=moving)
    task = next(stream.take(1)) if k is None else stream.task(k)
    if moving:
        with screen.progress("Drawing") as progress:
            save(moving_portrait(stream, task.index, progress), path)
    else:
        save(portrait(task), path)
    facts = {**_facts(stream, task), "picture": str(path)}
    return Answer(facts, lambda: _view(facts, task))


def _kind(stream: Stream) -> str:
    """The kind as part of a file's name; an export may come from anybody and call itself anything."""
    return re.sub(r"[^a-z0-9-]", "-", stream.id.partition("/")[0])


def _facts(stream: Stream, task: Task) -> dict[str, Any]:
    return {
        "stream": stream.id,
        "fingerprint": stream.fingerprint(),
        "tasks": stream.n_tasks,
        "task": task.index,
        "labels": list(task.labels),
        "image_shape": list(task.train.images.shape[1:]),
        "images": {split: len(task.split(split)) for split in SPLITS},
        "factors": _factor_facts(task.train.factors),
        "settings": stream.spec.model_dump(mode="json", exclude_defaults=True),
    }


def _factor_facts(factors: Factors | None) -> dict[str, Any]:
    """Of each factor that varies: the lowest and highest value, and how many there are."""
    columns = {} if factors is None else {name: getattr(factors, name) for name in FACTOR_NAMES}
    facts = {
        name: {"low": float(column.min()), "high": float(column.max()), "values": len(np.unique(column))}
        for name, column in columns.items()
        if len(np.unique(column)) > 1
    }
    n_colours = 0 if factors is None else len(np.unique(factors.colour, axis=0))
    return {**facts, "colour": {"values": n_colours}} if n_colours > 1 else facts


def _view(facts: dict[str, Any], task: Task) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for word, value in _lines(facts):
        grid.add_row(word, value)
    title = Text(f" {facts['stream']}", style="bold")
    pictures = task.exemplars if len(task.exemplars) else task.train
    return Group(
        "",
        title,
        "",
        Padding(grid, (0, 1), expand=False),
        "",
        Padding(Mosaic(pictures.images[:10]), (0, 1), expand=False),
    )


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    height, width, *colours = facts["image_shape"]
    counts = [f"{n:,} {split.replace('_', ' ')}" for split, n in facts["images"].items() if n]
    factors = [_factor_line(name, **values) for name, values in facts["factors"].items()]
    settings = [f"{name} = {value}" for name, value in facts["settings"].items()]
    return [
        ("tasks", "∞" if facts["tasks"] is None else f"{facts['tasks']:,}"),
        (f"task {facts['task']:,}", f"{len(facts['labels'])} labels: {_numbers(facts['labels'])}"),
        ("images", f"{height} × {width} {'colour' if colours else 'gray'}: {', '.join(counts)}"),
        ("factors", "\n".join(factors) or "unknown, or always the same"),
        ("settings", "\n".join(settings) or "all defaults"),
        ("fingerprint", facts["fingerprint"]),
        ("picture", facts["picture"]),
    ]


def _factor_line(name: str, values: int, low: float = 0.0, high: float = 0.0) -> str:
    span = "" if name == "colour" else f"{low:.4g} … {high:.4g}"
    return f"{name:<7}{span:<14}{values:,} values"


def _numbers(labels: list[int]) -> str:
    """Consecutive numbers as a range, others one by one, not more than fit on a line."""
    if labels == list(range(labels[0], labels[-1] + 1)) and len(labels) > 2:
        return f"{labels[0]} to {labels[-1]}"
    return ", ".join(map(str, labels[:10])) + (" …" if len(labels) > 10 else "")
