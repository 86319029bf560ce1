"""What a command hands back, and the screen it is shown on."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import ProgressColumn

PIPE_WIDTH = 120

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
