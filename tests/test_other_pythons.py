"""The same stream from another Python, with other versions of numpy and numba; torch is too large to try."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from everlearn.streams import sprites

SOURCE = Path(__file__).parent.parent / "src"
NEEDED = ("numpy", "numba", "pillow", "pydantic")
PROGRAM = "from everlearn.streams import sprites; print(sprites().fingerprint())"


def python(version: str) -> str | None:
    """A working Python of some version, on the path or from pyenv."""
    kept = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    found = [shutil.which(f"python{version}"), *map(str, kept)]
    said = {p: subprocess.run([p, "--version"], capture_output=True, check=False) for p in found if p}
    return next((p for p, answer in said.items() if answer.returncode == 0), None)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_fingerprint_under_other_python_versions(version: str, tmp_path: Path) -> None:
    other = python(version)
    if other is None:
        pytest.skip(f"Python {version} is not on this machine")
    subprocess.run([other, "-m", "venv", tmp_path / "venv"], check=True)
    there = str(tmp_path / "venv/bin/python")
    subprocess.run([there, "-m", "pip", "install", "--quiet", *NEEDED], check=True)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    done = subprocess.run([there, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sprites().fingerprint()
