"""`everlearn new` and `everlearn check`: start a learner or a stream of your own, and check its contract."""

import keyword
import re
from importlib.resources import files as package_files
from pathlib import Path
from string import Template
from typing import Any, Literal

from everlearn import files
from everlearn.cli.output import CommandResult, ConsoleArg
from everlearn.errors import BadInput

Kind = Literal["learner", "stream"]


def new(kind: Kind, name: str, /) -> CommandResult:
    """Write a working file with a learner or a stream of your own.

    Args:
        kind: learner or stream.
        name: Name of the file in the current folder, in snake case, such as odd_method.
    """
    stem = name.removesuffix(".py")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", stem) or keyword.iskeyword(stem):
        raise BadInput(f"{name!r} is not a name in snake case; write one such as odd_method")
    path = Path(f"{stem}.py")
    if path.exists():
        raise BadInput(f"{path} exists already; choose another name")
    component = "".join(word.capitalize() for word in stem.split("_")) if kind == "learner" else stem
    template = package_files("everlearn.cli").joinpath(f"templates/{kind}.py.txt").read_text("utf-8")
    title = stem.replace("_", " ").capitalize()
    files.write(path, Template(template).substitute(name=component, file=path, title=title).encode())
    reference = f"{path}:{component}"
    data = {"file": str(path), kind: reference, "run": f"everlearn run --{kind} {reference}"}
    return CommandResult(
        data,
        lambda: (
            f"Wrote {path}. Run it with `{data['run']} --tasks 3`; check it with "
            f"`everlearn check {kind} {reference}`."
        ),
    )


def check(kind: Kind, reference: str, /, *, console: ConsoleArg) -> CommandResult:
    """Check that a learner or a stream keeps the promises of its interface.

    Args:
        kind: learner or stream.
        reference: A name, package.module:Class or file.py:Class.
    """
    from everlearn import streams, testing

    if kind == "learner":
        checks: Any = testing.LEARNER_CHECKS
        trial: Any = testing.make_trial(reference)
    else:
        checks, trial = testing.STREAM_CHECKS, testing.StreamTrial(streams.build({"stream": reference}))
    kept: list[str] = []
    with console.progress(f"Checking {reference}") as update:
        for number, each in enumerate(checks):
            update(number, len(checks), each.__name__.replace("_", " "))
            kept.append(testing.run_check(each, trial))
    return CommandResult(
        {kind: reference, "promises": kept},
        lambda: "\n".join(
            [*(f"ok  {each}" for each in kept), f"{reference} keeps all {len(kept)} promises."]
        ),
    )
