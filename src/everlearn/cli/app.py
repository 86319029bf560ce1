"""The command `everlearn`: its subcommands, error messages and exit codes."""

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Literal, get_args, get_origin

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from everlearn import __version__
from everlearn.cli.output import CommandResult, Console, notices_as_lines
from everlearn.errors import BadInput, unknown

EXPECTED: dict[object, str] = {int: "a whole number", float: "a number", bool: "given without a value"}
ADVICE: dict[type[OSError], str] = {
    FileNotFoundError: "check the spelling",
    IsADirectoryError: "name a file",
    NotADirectoryError: "name a folder",
    PermissionError: "choose one that you have access to",
}
"""Advice by error of the operating system."""
ROOT_FLAGS = ("--help", "--json", "--debug")
INVALID = 2
INTERRUPTED = 130  # as shells report a program that Ctrl-C ended
PIPE_CLOSED = 1  # as Python and rich do

GLOBAL = Group("Global", sort_key=9)
GlobalFlag = Parameter(negative=(), show_default=False, group=GLOBAL)

COMMANDS = {
    "stream": ("streams:app", "Show, export and fingerprint streams."),
    "run": ("run:run", "Train a learner on a stream."),
    "resume": ("run:resume", "Resume a run."),
    "budget": ("budget:budget", "Find the settings with which a learner meets a budget."),
    "sweep": ("sweep:sweep", "Run many runs in parallel."),
    "benchmark": ("benchmark:benchmark", "Run the suite of the leaderboard with a learner."),
    "leaderboard": ("benchmark:leaderboard", "List the score cards of all learners."),
    "reproduce": ("reproduce:reproduce", "Reproduce the figures of a paper."),
    "list": ("records:list_", "List the records in a folder, or the classes of a memory."),
    "show": ("records:show", "Show the results of a run."),
    "compare": ("records:compare", "Compare runs in a table."),
    "plot": ("records:plot", "Draw a figure of runs."),
    "report": ("records:report", "Write an HTML report of runs."),
    "pack": ("archive:pack", "Write records to one archive file."),
    "unpack": ("archive:unpack", "Restore the records of an archive."),
    "pretrain": ("pretrain:pretrain", "Pretrain a backbone."),
    "learners": ("learners:learners", "List the learners, or the settings of one."),
    "data": ("data:app", "List and download published datasets."),
    "new": ("development:new", "Write a file with a learner or stream of your own."),
    "check": ("development:check", "Check a learner or stream of your own."),
    "teach": ("recognise:teach", "Teach a memory a thing with one image."),
    "ask": ("recognise:ask", "Ask a memory what images show."),
    "forget": ("recognise:forget", "Erase a class from a memory."),
    "rename": ("recognise:rename", "Rename a class of a memory."),
    "unknowns": ("unknowns:unknowns", "List, name and discard what a memory did not recognise."),
    "memory": ("memory:app", "List and edit exemplar memories."),
    "evaluate": ("protocols:app", "Evaluate a trained learner on a protocol."),
    "ablate": ("ablate:ablate", "Ablate each component of a method."),
    "studio": ("studio:studio", "Open a web page for records and models."),
    "doctor": ("doctor:doctor", "Show versions, devices and speed of this machine."),
}
"""Modules are imported when their command is used."""

app = App(
    name="everlearn",
    help="Continual learning: streams of tasks, learners, evaluation.",
    version_flags=[],
    help_format="plaintext",
)
app.meta.suppress_keyboard_interrupt = False
app["--help"].group = GLOBAL
for _command, (_target, _help) in COMMANDS.items():
    app.command(f"everlearn.cli.{_target}", name=_command, help=_help)


@app.command(name="--version", group=GLOBAL)
def version() -> CommandResult:
    """Show the version."""
    return CommandResult({"version": __version__}, lambda: __version__)


@app.command(name="--install-completion", group=GLOBAL)
def install_completion(shell: Literal["bash", "zsh", "fish"] | None = None) -> CommandResult:
    """Install completion of commands for bash, zsh or fish.

    Args:
        shell: The shell; default: the current one.
    """
    from cyclopts.completion.detect import ShellDetectionError

    try:
        path = app.install_completion(shell=shell)
    except ShellDetectionError:
        raise BadInput("cannot detect the shell; name it: bash, zsh or fish") from None
    return CommandResult(
        {"completion": str(path)}, lambda: f"Completion is in {path}; open a new shell to use it."
    )


@app.meta.default
def _launch(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    json: Annotated[bool, GlobalFlag] = False,
    debug: Annotated[bool, GlobalFlag] = False,
) -> int:
    """Run a command, print its result and return its exit code.

    Args:
        words: The command and its options.
        json: Print the result as one JSON object.
        debug: Show the traceback of an error.
    """
    console = Console(as_json=json)
    _add_outside_protocol(words)
    command, bound, injected = app.parse_args(words, exit_on_error=False, print_error=False)
    bound.arguments.update(dict.fromkeys(injected, console))
    with notices_as_lines():
        result = command(*bound.args, **bound.kwargs)
    if not isinstance(result, CommandResult):
        return 0
    console.show(result)
    return result.exit_code


def _add_outside_protocol(words: Sequence[str]) -> None:
    """Make `everlearn evaluate NAME` a command if NAME is a protocol from outside the package."""
    if words[:1] != ("evaluate",) or len(words) < 2 or words[1].startswith("-"):
        return
    from everlearn.evaluation import protocols

    name = words[1]
    if name not in protocols.REGISTRY.builtin and protocols.REGISTRY.knows(name):
        from everlearn.cli.protocols import add_protocol

        add_protocol(name)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    That is 0, 2 (invalid input), 130 (Ctrl-C), 143 (SIGTERM) or 1 (closed pipe, failed run of a sweep).
    """
    words = sys.argv[1:] if words is None else words
    _escape_unencodable()
    try:
        code = app.meta(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Discard the buffer, which Python would otherwise try to flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (BadInput, OSError, CycloptsError) as error:
        if "--debug" in words:
            raise
        print(f"everlearn: {error_message(error)}", file=sys.stderr)
        return INVALID
    return code or 0


def _escape_unencodable() -> None:
    """Print escapes for characters such as ∞ that the encoding of a terminal does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def error_message(error: BadInput | OSError | CycloptsError) -> str:
    """One line; user input is quoted, so that it cannot control the terminal.

    Example:
        >>> error_message(FileNotFoundError(2, "No such file or directory", "settings.toml"))
        "cannot use 'settings.toml': no such file or directory; check the spelling"
    """
    match error:
        case CycloptsError():
            text = _parser_message(error)
        case OSError(filename=None):
            text = f"error of the operating system: {_lower(error.strerror or str(error))}"
        case OSError():
            advice = next((f"; {words}" for kind, words in ADVICE.items() if isinstance(error, kind)), "")
            text = f"cannot use {str(error.filename)!r}: {_lower(error.strerror or str(error))}{advice}"
        case _:
            text = str(error)
    return " ".join(text.split())


def _parser_message(error: CycloptsError) -> str:
    error.verbose = False
    match error:
        case UnknownCommandError(unused_tokens=[word, *_], app=App() as parent):
            return _unknown_word(word, list(parent))
        case UnknownOptionError():
            known = (name for argument in error.argument_collection for name in argument.names)
            return str(unknown("option", error.token.keyword or error.token.value, [*known, *ROOT_FLAGS]))
        case CoercionError(token=token, target_type=expected) if token is not None:
            return _wrong_value(token.keyword or _name(error), token.value, expected)
        case MissingArgumentError():
            return f"{error.keyword or _name(error)} needs a value; {_see_help(error)}"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice; give it once"
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            return f"unexpected argument {word!r}; {_see_help(error)}"
        case _:
            return str(error)


def _unknown_word(word: str, names: list[str]) -> str:
    """An unknown command or an unknown global option, which are the same to the parser."""
    is_option = word.startswith("-")
    known = [name for name in (*names, *ROOT_FLAGS) if name.startswith("-") == is_option]
    return str(unknown("option" if is_option else "command", word, known))


def _wrong_value(name: str, value: str, expected: object) -> str:
    if get_origin(expected) is Literal:
        description = "one of " + ", ".join(map(repr, get_args(expected)))
    else:
        kinds = (expected, *_members(expected))
        description = next((EXPECTED[kind] for kind in kinds if kind in EXPECTED), "another value")
    return f"{name} is {value!r}; it must be {description}"


def _members(union: object) -> list[object]:
    """The types of a union such as int | None, without annotations."""
    return [get_args(part)[0] if get_origin(part) is Annotated else part for part in get_args(union)]


def _name(error: CycloptsError) -> str:
    return error.argument.name if error.argument is not None else "an option"


def _see_help(error: CycloptsError) -> str:
    return f"see `{' '.join(['everlearn', *(error.command_chain or ())])} --help`"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
