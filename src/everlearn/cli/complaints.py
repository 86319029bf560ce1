"""Whatever went wrong with what was given, said in one sentence."""

from typing import Annotated, Literal, get_args, get_origin

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

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
