import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
MAX_LINES = 40


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", example], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_fits_on_a_screen(example: Path) -> None:
    assert len(example.read_text().splitlines()) <= MAX_LINES


def example_output(name: str, folder: Path) -> str:
    example = next(path for path in EXAMPLES if path.name == name)
    return subprocess.run(
        [sys.executable, example], cwd=folder, capture_output=True, text=True, check=True, env=os.environ
    ).stdout


def test_the_examples_say_what_is_true(tmp_path: Path) -> None:
    assert "settings: True" in example_output("02_endless_tasks.py", tmp_path)
    assert example_output("03_export.py", tmp_path).count("equals the original") == 4


def test_the_demo_ends_by_saying_where_the_figure_is(tmp_path: Path) -> None:
    last = example_output("demo.py", tmp_path).replace("\n", "").rpartition(" ")[2]
    assert (tmp_path / "demo" / "stream.png").is_file()
    assert last.endswith("stream.gif")
