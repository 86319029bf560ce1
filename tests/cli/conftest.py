import os
import subprocess
from pathlib import Path

import pytest
from outcomes import EVERLEARN, Outcome, Run

from everlearn.cli import main


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
