"""`everlearn learners`: the learners and their settings."""

from typing import TYPE_CHECKING, Any

from everlearn.cli.output import NONE, CommandResult, settings_table, table
from everlearn.learners import LEARNERS, REGISTRY, entry, settings_class

if TYPE_CHECKING:
    from rich.console import RenderableType

    from everlearn.learners.registry import LearnerEntry


def learners(name: str | None = None, /) -> CommandResult:
    """List the learners, or all settings of one.

    Args:
        name: The learner whose settings are listed: a name, package.module:Class or file.py:Class.
    """
    if name is not None:
        return _settings(name)
    data = {each: _data(entry) for each, entry in LEARNERS.items()}
    for each, point in REGISTRY.installed.items():  # listed without importing them
        data[each] = {"description": f"from {point.value}", "supervision": NONE, "data_parallel": False}
    titles = ("learner", "method", "supervision", "data-parallel")
    return CommandResult({"learners": data}, lambda: table(titles, [_row(each, data[each]) for each in data]))


def _data(entry: "LearnerEntry") -> dict[str, Any]:
    return {
        "description": entry.description,
        "supervision": entry.supervision,
        "data_parallel": entry.supports_data_parallel,
    }


def _row(name: str, data: dict[str, Any]) -> tuple[str, ...]:
    return name, data["description"], data["supervision"], "yes" if data["data_parallel"] else NONE


def _settings(name: str) -> CommandResult:
    from everlearn.settings import describe

    data = {"learner": name, **_data(entry(name)), "settings": describe(settings_class(name))}
    return CommandResult(data, lambda: _details(data))


def _details(data: dict[str, Any]) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    title = Text.assemble(
        (data["learner"], "bold"),
        f": {data['description']}\n",
        ("supervision: ", "dim"),
        data["supervision"],
        ("; supports data-parallel processes" if data["data_parallel"] else "", "dim"),
    )
    settings = [settings_table(data["settings"], prefix="learner.")] if data["settings"] else []
    return Group("", title, *settings)
