"""`everlearn learners`: who can learn, and what can be set."""

from typing import Any

from cyclopts.help import DefaultFormatter, HelpPanel
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from everlearn.cli.output import Answer


def learners(name: str | None = None, /) -> Answer:
    """List the learners with what each is given, or all settings of one.

    Args:
        name: The learner whose settings are listed.
    """
    if name is not None:
        facts = _facts(name)
        return Answer(facts, lambda: _view(facts))
    from everlearn import learners as room
    from everlearn.cli.output import table

    all_facts = {each: _facts(each) for each in room.names()}
    rows = [
        (each, fact["about"], fact["given"], "yes" if fact["shareable"] else "–")
        for each, fact in all_facts.items()
    ]
    titles = ("learner", "what it does", "is given", "shares its work")
    return Answer({"learners": all_facts}, lambda: table(titles, rows))


class WithLearnerSettings(DefaultFormatter):
    """Help that ends with the settings of every learner, read from the constructors."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Draw a panel, then the settings."""
        super().__call__(console, options, panel)
        from everlearn import learners as room

        console.print(
            *(_view(_facts(name)) for name in room.names()), sep="\n", highlight=False, markup=False
        )


def _facts(name: str) -> dict[str, Any]:
    from everlearn import learners as room
    from everlearn.cli.output import first_line, settings_facts

    found = room.learner_class(name)
    settings = settings_facts(room.settings_class(name))
    return {
        "learner": name,
        "about": first_line(found.__doc__),
        "given": found.supervision,
        "shareable": found.supports_data_parallel,
        "settings": settings,
    }


def _view(facts: dict[str, Any]) -> RenderableType:
    from everlearn.cli.output import settings_table

    title = Text.assemble(
        (facts["learner"], "bold"),
        f": {facts['about']}\n",
        ("given ", "dim"),
        facts["given"],
        ("; several processes can share its work" if facts["shareable"] else "", "dim"),
    )
    settings = [settings_table(facts["settings"], prefix="learner.")] if facts["settings"] else []
    return Group("", title, *settings)
