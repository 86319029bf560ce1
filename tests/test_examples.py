"""The examples run, print what is expected, and stay short."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = {path.name: path for path in sorted((Path(__file__).parents[1] / "examples").glob("*.py"))}
MAX_LINES = 40
ARGUMENTS = {"demo.py": ["2", "2"]}  # two tasks instead of twenty, two values per factor instead of four
OUTPUT = {
    "01_draw_shapes.py": "Wrote shapes.png",
    "02_infinite_stream.py": "The same stream from its settings: True",
    "03_export.py": "equals the original",
    "demo.py": "The report is",
}
FILES = {
    "01_draw_shapes.py": ["shapes.png"],
    "03_export.py": [f"exported/{to}/manifest.json" for to in ("npz", "png", "parquet", "webdataset")],
    "demo.py": ["demo/accuracy.png", "demo/report.html", "demo/naive/spec.json"],
}


@pytest.mark.more
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES[name], *ARGUMENTS.get(name, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert OUTPUT[name] in done.stdout
    assert "differs" not in done.stdout
    assert all((tmp_path / file).is_file() for file in FILES.get(name, []))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "demo.py"])
def test_example_is_short(name: str) -> None:
    assert len(EXAMPLES[name].read_text().splitlines()) <= MAX_LINES
