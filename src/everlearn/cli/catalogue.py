"""`everlearn stream list`: which streams there are, and what can be set."""

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from everlearn import streams
from everlearn.cli.answer import Answer


def kinds() -> Answer:
    """All kinds of streams with a line about each."""
    about = {kind: _first_line(streams.settings_class(kind).__doc__) for kind in streams.kinds()}
    return Answer({"kinds": about}, lambda: _table(("kind", "what arrives"), about.items()))


def settings(kind: str) -> Answer:
    """All settings of one kind, as its settings model says them."""
    fields = streams.settings_class(kind).model_fields
    defaults = streams.settings_class(kind).model_construct().model_dump(mode="json", warnings=False)
    facts: dict[str, dict[str, Any]] = {
        name: {"default": defaults.get(name), "meaning": field.description or ""}
        for name, field in fields.items()
    }
    rows = [(name, _short(fact["default"]), fact["meaning"]) for name, fact in facts.items()]
    return Answer({"kind": kind, "settings": facts}, lambda: _table(("setting", "default", "meaning"), rows))


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for title, style in zip(titles, ("bold", *[""] * len(titles)), strict=False):
        table.add_column(title, style=style)
    for row in rows:
        table.add_row(*row)
    return table


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _short(value: object) -> str:
    return "–" if value is None else str(value)
