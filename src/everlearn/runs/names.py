"""Names that people give to runs, and the folders that are safe to make for them."""

import re
import unicodedata
from pathlib import Path

from everlearn.errors import BadInput

MAX_NAME = 200
MAX_SLUG = 60


def folder_name(name: str, identity: str) -> str:
    """A folder's name for any words: plain letters and digits, and the first of an identity.

    Example:
        >>> folder_name("Größe: 2/3 ☂", "9f86d081884c7d65")
        'grosse-2-3-9f86d081'
    """
    plain = unicodedata.normalize("NFKD", check_name(name).casefold()).encode("ascii", "ignore").decode()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:MAX_SLUG].strip("-")
    return f"{slug or 'run'}-{identity[:8]}"


def check_name(name: str) -> str:
    """The name itself, or a complaint if it cannot be shown on one line."""
    bad = [letter for letter in name if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    if bad or len(name) > MAX_NAME:
        raise BadInput(f"{name!r:.60} is no name for a run; give up to {MAX_NAME} characters on one line")
    return name


def check_folder(folder: Path | str) -> Path:
    """The path itself, or a complaint if no folder can have it."""
    if "\0" in str(folder) or not str(folder).strip():
        raise BadInput(f"no folder can be called {str(folder)!r:.60}; choose another")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise BadInput(f"no folder can be called {str(folder)!r:.60}; it is not text") from None
    return Path(folder)
