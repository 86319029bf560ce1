"""What a command line did, and what lies on the disk afterwards."""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

EVERLEARN = Path(sys.executable).with_name("everlearn")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def tree(folder: Path) -> dict[str, str]:
    """What lies in a folder: every name, with a hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }
