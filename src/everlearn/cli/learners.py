"""`everlearn learners`: the learners and their settings."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from everlearn.cli.output import Result, settings_data, settings_table, table


def learners(name: str | None = None, /) -> Result:
    """List the learners, or all settings of one.

    Args:
        name: The learner whose settings are listed.
    """
    from everlearn import learners

    if name is not None:
        learners.learner_class(name)
        data = {**_data(name), "settings": settings_data(learners.settings_class(name))}
        return Result(data, lambda: _details(data))
    all_data = {each: _data(each) for each in learners.names()}  # without importing torch
    rows = [
        (each, data["description"], data["supervision"], "yes" if data["data_parallel"] else "–")
        for each, data in all_data.items()
    ]
    titles = ("learner", "method", "supervision", "data-parallel")
    return Result({"learners": all_data}, lambda: table(titles, rows))


def _data(name: str) -> dict[str, Any]:
    from everlearn.learners.registry import LEARNERS

    entry = LEARNERS[name]
    return {
        "learner": name,
        "description": entry.description,
        "supervision": entry.supervision,
        "data_parallel": entry.supports_data_parallel,
    }


def _details(data: dict[str, Any]) -> RenderableType:
    title = Text.assemble(
        (data["learner"], "bold"),
        f": {data['description']}\n",
        ("supervision: ", "dim"),
        data["supervision"],
        ("; supports data-parallel processes" if data["data_parallel"] else "", "dim"),
    )
    settings = [settings_table(data["settings"], prefix="learner.")] if data["settings"] else []
    return Group("", title, *settings)
