import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from everlearn.cli import main

EVERLEARN = Path(sys.executable).with_name("everlearn")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def run(*words: str) -> Outcome:
        code = main(words)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Run:
    """Run the installed command in a process of its own."""

    def spawn(*words: str, **changed: str) -> Outcome:
        done = subprocess.run(
            [EVERLEARN, *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **changed},
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return spawn


def tree(folder: Path) -> dict[str, str]:
    """What lies in a folder: every name, with a hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }
