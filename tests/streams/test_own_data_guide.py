"""The examples of docs/own_data.md run, and its table has the benchmarks."""

import re
from pathlib import Path

import pytest

from everlearn import streams
from everlearn.streams.images.sources import SOURCES

GUIDE = (Path(__file__).parents[2] / "docs" / "own_data.md").read_text("utf-8")


def test_examples_run(tmp_path, monkeypatch):
    pytest.importorskip("datasets").disable_progress_bars()
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(block, names)
        assert isinstance(names["stream"], streams.Stream)


def test_table_of_benchmarks():
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| ([a-z0-9-]+) \|$", GUIDE, re.MULTILINE)
    expected = {(stream, name) for name, source in SOURCES.items() for stream in source.streams}
    assert set(rows) == expected - {("mnist", "mnist"), ("fashion", "fashion-mnist")}
