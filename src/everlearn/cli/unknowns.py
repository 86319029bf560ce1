"""`everlearn unknowns`: groups of images that a memory did not recognise."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.cli.arguments import Whole
from everlearn.cli.output import CommandResult, counted, table
from everlearn.cli.recognise import opened
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.recognition import Recogniser
    from everlearn.recognition.unknowns import UnknownGroup

QUESTION = "What is it? (name, or Enter to skip) "


def unknowns(
    memory: Path,
    /,
    *,
    name: Annotated[tuple[Whole, str] | None, Parameter(show_default=False, metavar="NUMBER NAME")] = None,
    discard: Annotated[Whole | None, Parameter(show_default=False, metavar="NUMBER")] = None,
) -> CommandResult:
    """List the unknown things that `ask --keep-unknown` has kept, or name or discard one.

    Args:
        memory: Folder of the memory.
        name: Number of a group, and the name to teach its images under; a class of this name keeps its own.
        discard: Number of a group to erase.
    """
    if name is not None and discard is not None:
        raise BadInput("--name and --discard are both given; give one of them")
    with opened(memory) as recogniser:
        done = ""
        if name is not None:
            n = recogniser.name_unknown(*name)
            done = f"taught {name[1]} with {counted(n, 'image')} of unknown {name[0]}; "
        elif discard is not None:
            done = f"erased unknown {discard}: {counted(recogniser.discard_unknown(discard), 'image')}; "
        groups = [as_data(group) for group in recogniser.unknowns]
        names = recogniser.names
    data = {"memory": str(memory), "unknowns": groups, "classes": names}
    if done:
        return CommandResult(data, lambda: f"{done}{counted(len(groups), 'unknown thing')} left")
    rows = [(str(each["number"]), str(each["images"]), each["first_seen"]) for each in groups]
    titles = ("unknown", "images", "first seen")
    return CommandResult(
        data, lambda: table(titles, rows) if rows else f"{memory} has kept no unknown images"
    )


def as_data(group: "UnknownGroup") -> dict[str, Any]:
    """A group as JSON."""
    return {"number": group.number, "images": group.n_images, "first_seen": group.first_seen}


def check_terminal() -> None:
    """Raise unless stdin is a terminal."""
    if not sys.stdin.isatty():
        raise BadInput("--interactive needs a terminal; use --keep-unknown, then `everlearn unknowns`")


def ask_name(recogniser: "Recogniser", path: Path, group: "UnknownGroup") -> str | None:
    """Ask for the name of a group until it is valid, and teach it; None if the question is skipped."""
    print(f"{path}: {group}", file=sys.stderr)
    while True:
        print(QUESTION, end="", file=sys.stderr, flush=True)
        name = sys.stdin.readline().strip()
        if not name:
            return None
        try:
            recogniser.name_unknown(group.number, name)
        except BadInput as error:
            print(error, file=sys.stderr)
        else:
            return name
