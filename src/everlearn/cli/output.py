"""Output of commands: results as tables or JSON, progress bars."""

import contextlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.errors import Notice

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import RenderableType
    from rich.progress import ProgressColumn
    from rich.table import Table


PIPE_WIDTH = 120
SIGNAL_OFFSET = 128
"""Exit codes of a shell for signals are this plus the number of the signal."""
NONE = "–"

UpdateProgress = Callable[[float, int | None, str], None]
"""Called with the work done, the total and a note."""


@dataclass(frozen=True)
class CommandResult:
    """Result of a command. Commands print nothing themselves, so `--json` works everywhere."""

    data: dict[str, Any]  # plain JSON values
    render: "Callable[[], RenderableType]"  # makes the output for a terminal
    exit_code: int = 0  # of the process


@dataclass(frozen=True)
class Console:
    """Prints results to stdout, and progress to stderr if that is a terminal."""

    as_json: bool = False

    def show(self, result: CommandResult) -> None:
        """Print a result."""
        if self.as_json:
            print(json.dumps(result.data, allow_nan=False))
        else:
            self._stdout().print(result.render())

    @contextlib.contextmanager
    def progress(self, title: str) -> Iterator[UpdateProgress]:
        """A progress bar on stderr; silent if that is not a terminal."""
        from rich import progress as bars
        from rich.console import Console as RichConsole

        console = RichConsole(stderr=True)
        with bars.Progress(
            *progress_columns(), console=console, transient=True, disable=not console.is_terminal
        ) as shown:
            bar = shown.add_task(title, total=None, note="")
            yield lambda done, total, note: shown.update(bar, completed=done, total=total, note=note)

    @staticmethod
    def _stdout() -> "RichConsole":
        """Without markup, because names of files may contain brackets; wide in a pipe, so that tables fit."""
        from rich.console import Console as RichConsole

        return RichConsole(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False)


ConsoleArg = Annotated[Console, Parameter(parse=False)]


def progress_columns() -> "tuple[ProgressColumn, ...]":
    """Columns of a progress bar: description, bar, count, remaining time and a note.

    Without markup, because names of files and classes may contain brackets.
    """
    from rich import progress as bars

    return (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("{task.fields[note]}", style="dim", markup=False),
    )


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> "Table":
    """A plain table with a bold first column."""
    from rich.table import Table

    made = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for title, style in zip(titles, ("bold", *[""] * len(titles)), strict=False):
        made.add_column(title, style=style)
    for row in rows:
        made.add_row(*row)
    return made


def details(title: str, rows: Iterable[tuple[str, str]], *more: "RenderableType") -> "RenderableType":
    """A title, a grid of names and values, and more below."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for row in rows:
        grid.add_row(*row)
    return Group("", Text(f" {title}", style="bold"), "", Padding(grid, (0, 1), expand=False), *more)


def settings_table(data: dict[str, dict[str, Any]], prefix: str = "") -> "Table":
    """A table of settings, as `everlearn.settings.describe` gives them; the prefix precedes each name."""
    rows = [(prefix + name, text(setting["default"]), setting["meaning"]) for name, setting in data.items()]
    return table(("setting", "default", "meaning"), rows)


def text(value: object, form: str = "") -> str:
    """A value as text, a dash for None."""
    return NONE if value is None else format(value, form) if form else str(value)


def counted(n: int, noun: str) -> str:
    """A count with its noun.

    Example:
        >>> counted(1, "image"), counted(2000, "image")
        ('1 image', '2,000 images')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


@contextlib.contextmanager
def notices_as_lines() -> Iterator[None]:
    """Print each warning for users as one line, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        show, printed = warnings.showwarning, set[str]()

        def show_line(message: Warning | str, category: type[Warning], *args: Any, **options: Any) -> None:
            if not issubclass(category, Notice):
                show(message, category, *args, **options)
            elif str(message) not in printed:
                printed.add(str(message))
                print(f"everlearn: {message}", file=sys.stderr)

        warnings.showwarning = show_line
        yield
