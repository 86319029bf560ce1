"""The notebooks run, and are committed without outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = {path.stem: path for path in sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))}
TIMEOUT = 300
"""Seconds for one cell on a busy machine."""


def cells(path: Path) -> list[dict[str, Any]]:
    return [each for each in json.loads(path.read_text("utf-8"))["cells"] if each["cell_type"] == "code"]


def test_all_notebooks_are_there() -> None:
    assert list(NOTEBOOKS) == ["compare", "dcl_on_photos", "own_learner", "stream", "vase"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_has_no_outputs(name: str) -> None:
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells(NOTEBOOKS[name]))


@pytest.mark.more
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the Jupyter packages
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    book = nbformat.read(NOTEBOOKS[name], as_version=4)
    nbclient.NotebookClient(book, timeout=TIMEOUT, resources={"metadata": {"path": tmp_path}}).execute()
    last = [cell for cell in book.cells if cell.cell_type == "code"][-1]
    assert last.outputs
