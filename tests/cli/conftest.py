import os
import shutil
import subprocess
from pathlib import Path

import pytest

from everlearn.cli import main

from .outcomes import EVERLEARN, Outcome, Run, record_of


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def run(*words: str) -> Outcome:
        code = main(words)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Run:
    """Run the installed command in another process."""

    def spawn(*words: str, **variables: str) -> Outcome:
        done = subprocess.run(
            [EVERLEARN, *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **variables},
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return spawn


@pytest.fixture
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of a learner with an editable memory and of one without."""
    folder = tmp_path_factory.mktemp("records")
    record_of("dcl", folder / "dcl", **{"learner.width": 4})
    record_of("nearest", folder / "nearest")
    return folder


@pytest.fixture
def records(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of these records in the working directory, under records/."""
    shutil.copytree(kept, tmp_path / "records")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "records"
