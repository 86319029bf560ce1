"""Results of benchmarks are kept apart by kind of processor."""

from pathlib import Path

import pytest
from benchmarks import processors, readme, table
from benchmarks.processors import kind, kinds, processor
from benchmarks.table import Row, keep

INFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: {family}
model\t\t: 1
model name\t: AMD EPYC
flags\t\t: sse {flags}

processor\t: 1
"""


def test_processors_of_one_name_are_different_kinds() -> None:
    found = [
        kind(processor(INFO.format(family=each[0], flags=each[1])))
        for each in ((23, "avx2"), (25, "avx2 avx512f"))
    ]
    assert found == ["amd-epyc-23-1-avx2", "amd-epyc-25-1-avx512"]
    assert kind(processor(""))  # without /proc/cpuinfo


def test_one_kind_does_not_overwrite_another_and_the_page_compares_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (processors, readme):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    for name, value in ((processors.REFERENCE, 2.0), ("a-new-kind", 3.0)):
        keep(tmp_path / name / "render.json", [Row("ours / peer", value, "x", goal=1.0)])
    keep(tmp_path / "a-new-kind" / "steps.json", [Row("step", 5.0, "ms", goal=9.0, at_most=True)])
    assert kinds() == [processors.REFERENCE, "a-new-kind"]
    lines = readme.table().splitlines()
    assert lines[0] == "| | | `amd-epyc` | `a-new-kind` | goal |"
    assert lines[2:] == [
        "| rendering | ours / peer | 2x | 3x | at least 1 |",
        "| training step | step |  | 5 ms | at most 9 |",
    ]
    rows = [Row("er", 3456.0, "images/s"), Row("er, before", 1728.0, "images/s"), Row("mir", 9.0, "images/s")]
    keep(tmp_path / "a-new-kind" / "learners.json", rows)
    keep(tmp_path / "a-new-kind" / "training.json", rows[:1])
    assert readme.learners().splitlines()[2:] == ["| er | 3,456 | 1,728 | 2.00x |", "| mir | 9 |  |  |"]
    assert readme.speeds().splitlines()[2:] == ["| er |  | 3,460 images/s |"]
    assert {"processor", "instructions", "load"} <= set(table.machine())
