"""Check the Markdown pages: python tools/check_docs.py.

Links lead to files and headings that exist. Python blocks are valid. Commands and options of `everlearn`, and
targets of `make`, exist.
"""

import ast
import re
import shlex
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?(?:torchrun .* -m )?(everlearn|make) (.*)$")
GLOBAL_OPTIONS = ("--help", "--json", "--debug", "--version")


def pages() -> list[Path]:
    """The Markdown files of the root and of docs/."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def problems(path: Path) -> Iterator[str]:
    """What is wrong with a page."""
    text = path.read_text("utf-8")
    prose = FENCE.sub("", text)
    yield from (f"link to {link}, which does not exist" for link in broken_links(path, INLINE.sub("", prose)))
    lines = [] if path.name == "CHANGELOG.md" else INLINE.findall(prose)  # which names former commands
    for language, block in FENCE.findall(text):
        if language == "python":
            yield from _invalid_python(block)
        elif language in ("", "bash", "console", "sh"):
            lines += block.replace("\\\n", " ").splitlines()
    for line in lines:
        if found := COMMAND.match(line.strip()):
            checked = unknown_target if found[1] == "make" else unknown_command
            yield from (f"`{line.strip()}`: {problem}" for problem in checked(found[2]))


def broken_links(path: Path, prose: str) -> Iterator[str]:
    """Links to files and headings that do not exist."""
    for link in LINK.findall(prose):
        target, _, heading = link.partition("#")
        file = path.parent / target if target else path
        is_outside = re.match(r"[a-z]+:", link) is not None
        if not is_outside and not (file.exists() and (not heading or heading in heading_ids(file))):
            yield link


@cache
def heading_ids(page: Path) -> set[str]:
    """The ids of a page's headings, as GitHub and mkdocs make them."""
    prose = FENCE.sub("", page.read_text("utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(prose)
    }


def _invalid_python(block: str) -> Iterator[str]:
    if ">>>" not in block:  # examples with a prompt are run by pytest
        try:
            ast.parse(block)
        except SyntaxError as error:
            yield f"invalid Python: {error.text!r}"


def unknown_target(words: str) -> Iterator[str]:
    """Words of a `make` command that are no target.

    Example:
        >>> list(unknown_target("demo TORCH=cuda"))
        []
        >>> list(unknown_target("tea"))
        ['the Makefile has no target tea']
    """
    known = TARGET.findall((ROOT / "Makefile").read_text("utf-8"))
    for word in shlex.split(words, comments=True):
        if word.isalpha() and word not in known:
            yield f"the Makefile has no target {word}"


def unknown_command(words: str) -> Iterator[str]:
    """What is unknown in a command of everlearn: the command itself, or an option.

    Example:
        >>> list(unknown_command("run --learner er   # a comment"))
        []
        >>> list(unknown_command("run --lerner er"))
        ['unknown option --lerner']
    """
    from everlearn.cli.app import app

    command, path = app, []
    tokens = shlex.split(words.replace("...", ""), comments=True)
    while tokens and not tokens[0].startswith("-") and tokens[0] in list(command):
        path.append(tokens[0])
        command = command[tokens.pop(0)]
    if (
        not path
        and tokens
        and tokens[0] not in GLOBAL_OPTIONS
        and tokens[0].isalpha()
        and tokens[0].islower()
    ):
        yield f"unknown command {tokens[0]}"
        return
    collection = command.assemble_argument_collection() if command.default_command else []
    known = {name for argument in collection for name in argument.names}
    for token in tokens:
        option = token.partition("=")[0]
        if (
            option.startswith("-")
            and not re.match(r"-\d", option)
            and option not in known | {*GLOBAL_OPTIONS, *app}
        ):
            yield f"unknown option {option}"


def main() -> int:
    """Print every problem with its page; 1 if there is any."""
    found = [f"{path.relative_to(ROOT)}: {problem}" for path in pages() for problem in problems(path)]
    print("\n".join(found) or f"{len(pages())} pages checked: links, commands and Python blocks are valid")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
