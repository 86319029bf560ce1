"""Refuse words that the glossary replaces: python tools/check_words.py PATH...

Reads the column "Not" of docs/glossary.md. Identifiers are split into words (`snake_case`, `CamelCase`).
Purposes of random draws are exempt, because renaming one would change results; so are arguments of libraries.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

GLOSSARY = Path(__file__).parent.parent / "docs" / "glossary.md"
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SUFFIXES = (".py", ".md", ".js", ".html", ".css", ".toml", ".ipynb")
PURPOSE = re.compile(r"(?:draws|rng_at|philox_key)\((?:[^\"()]|\([^()]*\))*\"[^\"]*\"")

FOREIGN = re.compile(r"bbox_to_anchor|\banchor=|\"anchor\"")  # check-words: allow
"""Arguments of matplotlib and Pillow."""


def refused() -> dict[str, str]:
    """Each refused word, and the term to use."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    return {word: term for term, words in rows[1:] for word in re.findall(r"[a-z]+", words)}


def occurrences(path: Path, words: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Line numbers and refused words of a file."""
    text = path.read_text("utf-8", errors="replace")
    if path.suffix == ".py":
        text = FOREIGN.sub("", PURPOSE.sub("", text))
    for number, line in enumerate(text.splitlines(), 1):
        if "check-words: allow" in line:
            continue
        yield from ((number, word) for word in map(str.lower, WORD.findall(line)) if word in words)


def main(paths: list[str]) -> int:
    """Print every refused word with its place; 1 if there is any."""
    words, found = refused(), Counter[str]()
    files = [file for path in map(Path, paths) for file in ([path] if path.is_file() else path.rglob("*"))]
    for file in sorted(
        file for file in files if file.suffix in SUFFIXES and file.resolve() != GLOSSARY.resolve()
    ):
        for number, word in occurrences(file, words):
            found[word] += 1
            print(f"{file}:{number}: {word!r} is not a term of this project; use: {words[word].strip()}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
