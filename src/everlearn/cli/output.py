"""Which streams and learners there are, and what can be set."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from everlearn import streams
from everlearn.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import ProgressColumn


PIPE_WIDTH = 120
KILLED = 128
"""What a shell adds to the number of the signal that ended a program."""

Progress = Callable[[float, int, str], None]


@dataclass(frozen=True)
class Answer:
    """What a command found out, once for programs and once for people.

    Because every command returns one, `--json` works everywhere and no command prints by itself.

    Attributes:
        facts: plain JSON values.
        view: makes what is drawn on the terminal; only called when a person is to see it.
        code: the exit code.
    """

    facts: dict[str, Any]
    view: "Callable[[], RenderableType]"
    code: int = 0


def progress_columns() -> "tuple[ProgressColumn, ...]":
    """What stands in a row of progress: what, a bar, how many of how many, the time left, and a word."""
    from rich import progress as bars

    return (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("[dim]{task.fields[word]}"),
    )


@dataclass(frozen=True)
class Screen:
    """Where answers and progress go: answers to stdout, progress to stderr, and only to a terminal.

    Attributes:
        as_json: answers are one JSON object on one line instead of a view.
    """

    as_json: bool = False

    def show(self, answer: Answer) -> None:
        """Print an answer in the way that was asked for."""
        if self.as_json:
            print(json.dumps(answer.facts, allow_nan=False))
        else:
            self.console().print(answer.view())

    @staticmethod
    def console() -> "Console":
        """Stdout for people; in a pipe without colours and wide enough not to fold tables.

        Brackets in what is shown are brackets: names of files must not turn into styles.
        """
        from rich.console import Console

        return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False)

    @contextlib.contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """A bar that is told `(done, total, word)` and is silent unless a person watches stderr."""
        from rich import progress as bars
        from rich.console import Console

        console = Console(stderr=True)
        with bars.Progress(
            *progress_columns(), console=console, transient=True, disable=not console.is_terminal
        ) as shown:
            bar = shown.add_task(title, total=None, word="")
            yield lambda done, total, word: shown.update(bar, completed=done, total=total, word=word)


Shown = Annotated[Screen, Parameter(parse=False)]


def kinds() -> Answer:
    """All kinds of streams with a line about each."""
    about = {kind: first_line(streams.settings_class(kind).__doc__) for kind in streams.names()}
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
