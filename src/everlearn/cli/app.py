"""The command line as a whole: which commands there are, and how it ends."""

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
from everlearn.cli.output import Answer, Screen
from everlearn.errors import BadInput, unknown

EXPECTED: dict[object, str] = {int: "a whole number", float: "a number", bool: "given without a value"}

ADVICE: dict[type[OSError], str] = {
    FileNotFoundError: "check how it is spelled",
    IsADirectoryError: "name a file",
    NotADirectoryError: "name a folder",
    PermissionError: "name one that you may use",
}
"""What to try, by what the system said."""

ROOT_FLAGS = ("--help", "--json", "--debug")

Complaint = BadInput | OSError | CycloptsError


def sentence(error: Complaint) -> str:
    """One line for people; what was given is quoted, so that nothing in it can act on the terminal.

    Example:
        >>> sentence(FileNotFoundError(2, "No such file or directory", "settings.toml"))
        "cannot use 'settings.toml': no such file or directory; check how it is spelled"
    """
    match error:
        case CycloptsError():
            text = _misread(error)
        case OSError(filename=None):
            text = f"the system refused: {_lower(error.strerror or str(error))}"
        case OSError():
            text = (
                f"cannot use {str(error.filename)!r}: {_lower(error.strerror or str(error))}{_advice(error)}"
            )
        case _:
            text = str(error)
    return " ".join(text.split())


def _misread(error: CycloptsError) -> str:
    """A complaint of the parser, in our words."""
    error.verbose = False
    match error:
        case UnknownCommandError(unused_tokens=[word, *_], app=App() as app):
            return _unknown_word(word, list(app))
        case UnknownOptionError():
            own = (name for argument in error.argument_collection for name in argument.names)
            return str(unknown("option", error.token.keyword or error.token.value, [*own, *ROOT_FLAGS]))
        case CoercionError(token=token, target_type=wanted) if token is not None:
            return _wrong_value(token.keyword or _name(error), token.value, wanted)
        case MissingArgumentError():
            return f"{error.keyword or _name(error)} needs a value; {_see_help(error)}"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice; give it once"
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            return f"cannot make sense of {word!r} here; {_see_help(error)}"
        case _:
            return str(error)


def _wrong_value(name: str, value: str, wanted: object) -> str:
    if get_origin(wanted) is Literal:
        expected = "one of " + ", ".join(map(repr, get_args(wanted)))
    else:
        # What may be left out is a union, such as int | None.
        expected = next(
            (EXPECTED[kind] for kind in (wanted, *_kinds(wanted)) if kind in EXPECTED), "something else"
        )
    return f"{name} is {value!r}; it must be {expected}"


def _kinds(wanted: object) -> list[object]:
    """What a union is made of, without what is noted beside its parts."""
    return [get_args(part)[0] if get_origin(part) is Annotated else part for part in get_args(wanted)]


def _unknown_word(word: str, names: list[str]) -> str:
    """A root flag and a command look alike to the parser; to people they do not."""
    is_option = word.startswith("-")
    known = [name for name in (*names, *ROOT_FLAGS) if name.startswith("-") == is_option]
    return str(unknown("option" if is_option else "command", word, known))


def _name(error: CycloptsError) -> str:
    return error.argument.name if error.argument is not None else "an option"


def _see_help(error: CycloptsError) -> str:
    return f"see `{' '.join(['everlearn', *(error.command_chain or ())])} --help`"


def _advice(error: OSError) -> str:
    return next((f"; {words}" for kind, words in ADVICE.items() if isinstance(error, kind)), "")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


REFUSED = 2
INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
PIPE_CLOSED = 1  # as Python's own advice and rich have it

EVERYWHERE = Group("Everywhere", sort_key=2)
Flag = Parameter(negative=(), show_default=False, group=EVERYWHERE)

app = App(
    name="everlearn",
    help="A lab for learning that never stops: an endless stream of recognition tasks.",
    version_flags=[],
    help_format="plaintext",
)
app.meta.suppress_keyboard_interrupt = False
app["--help"].group = EVERYWHERE
app.command("everlearn.cli.streams:app", name="stream", help="Look at streams, export them, cite them.")
app.command("everlearn.cli.run:run", name="run", help="Play a stream to a learner and keep a record.")
app.command("everlearn.cli.run:resume", name="resume", help="Play a record on from where it stopped.")
app.command("everlearn.cli.sweep:sweep", name="sweep", help="Play many runs side by side.")
app.command("everlearn.cli.reproduce:reproduce", name="reproduce", help="Do a paper's figures again.")
app.command("everlearn.cli.records:list_", name="list", help="List the records in a folder.")
app.command("everlearn.cli.records:show", name="show", help="Say what a record holds.")
app.command("everlearn.cli.records:compare", name="compare", help="Put records side by side.")
app.command("everlearn.cli.records:plot", name="plot", help="Draw a figure over records.")
app.command("everlearn.cli.records:report", name="report", help="Write one web page over records.")
app.command("everlearn.cli.pretrain:pretrain", name="pretrain", help="Train what l2p starts from.")
app.command("everlearn.cli.learners:learners", name="learners", help="List the learners, or settings of one.")
app.command("everlearn.cli.memory:app", name="memory", help="Look at what a learner remembers, and edit it.")
app.command("everlearn.cli.protocols:app", name="evaluate", help="Evaluate a trained learner on a protocol.")
app.command("everlearn.cli.ablate:ablate", name="ablate", help="Switch a learner's ideas off in turn.")
app.command("everlearn.cli.studio:studio", name="studio", help="Open a web page on records and models.")
app.command("everlearn.cli.doctor:doctor", name="doctor", help="Say what this machine can do.")


@app.command(name="--version", group=EVERYWHERE)
def version() -> Answer:
    """Say which everlearn this is."""
    return Answer({"version": __version__}, lambda: __version__)


@app.command(name="--install-completion", group=EVERYWHERE)
def install_completion(shell: Literal["bash", "zsh", "fish"] | None = None) -> Answer:
    """Teach your shell (bash, zsh or fish) to complete everlearn's commands.

    Args:
        shell: Which shell; the one you are in if not said.
    """
    from cyclopts.completion.detect import ShellDetectionError

    try:
        path = app.install_completion(shell=shell)
    except ShellDetectionError:
        raise BadInput("cannot tell which shell this is; name it: bash, zsh or fish") from None
    return Answer({"completion": str(path)}, lambda: f"Completion is in {path}; open a new shell to use it.")


@app.meta.default
def _launch(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    json: Annotated[bool, Flag] = False,
    debug: Annotated[bool, Flag] = False,
) -> int:
    """Hand the words to their command, show its answer, and return its exit code.

    Args:
        words: The command and its options.
        json: Answer with one JSON object on one line.
        debug: Show the whole traceback when something goes wrong.
    """
    screen = Screen(as_json=json)
    command, bound, injected = app.parse_args(words, exit_on_error=False, print_error=False)
    bound.arguments.update(dict.fromkeys(injected, screen))
    answer = command(*bound.args, **bound.kwargs)
    if not isinstance(answer, Answer):
        return 0
    screen.show(answer)
    return answer.code


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    That is 0, 2 (refused), 130 (Ctrl-C), 143 (asked to end, and saved) or 1 (closed pipe).
    """
    words = sys.argv[1:] if words is None else words
    _survive_odd_encodings()
    try:
        code = app.meta(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is still in the buffer has nowhere to go; without this Python complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (BadInput, OSError, CycloptsError) as error:
        if "--debug" in words:
            raise
        print(f"everlearn: {sentence(error)}", file=sys.stderr)
        return REFUSED
    return code or 0


def _survive_odd_encodings() -> None:
    """A terminal that cannot show ∞ gets an escape instead of a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
