"""Which streams and learners there are, and what can be set."""

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from everlearn import streams
from everlearn.cli.answer import Answer
from everlearn.streams.settings import Settings


def kinds() -> Answer:
    """All kinds of streams with a line about each."""
    about = {kind: first_line(streams.settings_class(kind).__doc__) for kind in streams.kinds()}
    return Answer({"kinds": about}, lambda: table(("kind", "what arrives"), about.items()))


def settings(kind: str) -> Answer:
    """All settings of one kind, as its settings model says them."""
    facts = settings_facts(streams.settings_class(kind))
    return Answer({"kind": kind, "settings": facts}, lambda: settings_table(facts))


def settings_facts(model: type[Settings]) -> dict[str, dict[str, Any]]:
    """Of each setting its default and its meaning."""
    defaults = model.model_construct().model_dump(mode="json", warnings=False)
    return {
        name: {"default": defaults.get(name), "meaning": field.description or ""}
        for name, field in model.model_fields.items()
    }


def settings_table(facts: dict[str, dict[str, Any]], prefix: str = "") -> Table:
    """Settings for people; the prefix goes before each name."""
    rows = [(prefix + name, short(fact["default"]), fact["meaning"]) for name, fact in facts.items()]
    return table(("setting", "default", "meaning"), rows)


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """A plain table whose first column stands out."""
    made = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for title, style in zip(titles, ("bold", *[""] * len(titles)), strict=False):
        made.add_column(title, style=style)
    for row in rows:
        made.add_row(*row)
    return made


def first_line(text: str | None) -> str:
    """The first line of a docstring."""
    return (text or "").strip().partition("\n")[0]


def short(value: object) -> str:
    """A value for people, a dash for none."""
    return "–" if value is None else str(value)
