"""The Python API: run, resume, compare and records."""

import csv
import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import everlearn
from everlearn.errors import BadInput
from everlearn.learners import ER
from everlearn.streams import sprites

SMALL = {"image_size": 16, "factor_values": 2, "split": [8, 3, 3], "classes_per_task": 3}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    for seed in (0, 1):
        everlearn.run(
            "nearest",
            stream_settings={**SMALL, "seed": seed},
            tasks=2,
            seed=seed,
            record=folder / f"nearest-{seed}",
        )
    everlearn.run(ER, sprites(**SMALL), tasks=2, record=folder / "er", learner_settings={"memory_size": 20})
    return folder


def test_record_of_a_run(records: Path) -> None:
    record = everlearn.Record(records / "er")
    assert record.is_finished
    assert record.spec["learner"]["settings"]["memory_size"] == 20
    assert np.asarray(record.scores).shape == (2, 2)
    learner, test = record.learner(), record.stream().task(1).test
    assert isinstance(learner, ER)
    row = list(record.evaluations())[-1]
    assert np.mean(learner.predict(test.images) == test.labels) == row["n_correct"][1] / row["n_images"][1]


def test_finished_run_is_returned(records: Path) -> None:
    assert everlearn.resume(records / "er").digest == everlearn.Record(records / "er").digest


def test_notebooks_show_records_figures_and_tables(records: Path, tmp_path: Path) -> None:
    record = everlearn.Record(records / "er")
    assert "<svg" in record._repr_html_()
    assert "average_accuracy" in record._repr_html_()
    figure = record.plot("forgetting")
    assert figure._repr_svg_().startswith("<?xml")
    assert figure.save(tmp_path / "forgetting.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(BadInput, match="unknown figure 'forgeting'; did you mean 'forgetting'"):
        record.plot("forgeting")
    assert everlearn.compare([records])._repr_html_().count("<tr>") == 3


def test_comparison_in_other_formats(records: Path) -> None:
    table = everlearn.compare(
        [records / "er", everlearn.Record(records / "nearest-0"), records / "nearest-1"]
    )
    assert "nearest" in repr(table)
    assert "±" in repr(table)
    assert len(everlearn.compare(records).rows) == len(everlearn.compare(str(records)).rows) == 2
    assert len(everlearn.compare(everlearn.Record(records / "er")).rows) == 1
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert {row["learner"] for row in rows} == {"er", "nearest"}
    latex = table.to_latex()
    assert latex.startswith("\\begin{tabular}{lr")
    assert latex.count(r"\\") == 3
    assert r"$\pm$" in latex
    frame = pytest.importorskip("pandas") and table.to_pandas()
    assert list(frame["learner"]) == [row["learner"] for row in table.rows]


METRIC = (
    "import numpy as np\n\ndef lowest(scores):\n    'Lowest score.'\n    return float(np.nanmin(scores))\n"
)


def test_metric_from_a_file(records: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(METRIC)
    table = everlearn.compare([records], metrics=[f"{tmp_path / 'mine.py'}:lowest", "backward_transfer"])
    expected = np.nanmin(np.asarray(everlearn.Record(records / "er").scores))
    assert next(row for row in table.rows if row["learner"] == "er")["lowest"] == expected
    assert "lowest" in repr(table)
    with pytest.raises(BadInput, match="unknown metric 'forgeting'; did you mean 'forgetting'"):
        everlearn.compare([records], metrics=["forgeting"])


def test_default_folders_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (everlearn.run("nearest", stream_settings=SMALL, tasks=1) for _ in range(2))
    assert first.folder.parent == Path("records")
    assert second.folder.name == f"{first.folder.name}-2"
    assert first.digest == second.digest


def test_invalid_arguments(tmp_path: Path) -> None:
    stream = sprites(**SMALL)
    with pytest.raises(BadInput, match="stream_settings are given with a stream that is built"):
        everlearn.run("er", stream, stream_settings=SMALL)
    with pytest.raises(BadInput, match="unknown learner 'err'; did you mean 'er'"):
        everlearn.run("err", stream, record=tmp_path / "a")
    with pytest.raises(BadInput, match=r"it must be a subclass of everlearn\.learners\.Learner"):
        everlearn.run(dict, stream, record=tmp_path / "a")  # type: ignore[type-var, arg-type]
    with pytest.raises(BadInput, match="has no name by which it can be found"):
        everlearn.run("er", partial(sprites, **SMALL), record=tmp_path / "a")
    assert not (tmp_path / "a").exists()


SCRIPT = """
import sys
import everlearn
from everlearn.learners import ER

class Mine(ER):
    "My method."

if __name__ == "__main__":
    small = {"image_size": 16, "factor_values": 2, "classes_per_task": 3}
    everlearn.run(Mine, stream_settings=small, tasks=2, record="run", progress=False)
"""


@pytest.mark.more
def test_class_of_a_script_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    record = everlearn.Record(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "spec.json").read_text())["learner"]["name"] == "script.py:Mine"
    assert type(record.learner()).__name__ == "Mine"


ARRAYS = """
import sys, numpy as np, everlearn
from everlearn.streams import from_arrays
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (60, 12, 12), dtype=np.uint8)
stream = from_arrays(images, np.arange(60) % 6, classes_per_task=2)
everlearn.run("nearest", stream, record=sys.argv[1], progress=False)
"""


@pytest.mark.more
def test_run_on_arrays_is_resumed_in_another_process(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", ARRAYS, tmp_path / "run"], check=True)
    record = everlearn.Record(tmp_path / "run")
    digest, events = record.digest, tmp_path / "run" / "events.jsonl"
    (data,) = record.folder.glob("data-*.npz")
    events.write_text("".join(events.read_text().splitlines(keepends=True)[:-1]))  # as if killed at the end
    assert everlearn.resume(record.folder).digest == digest
    test = record.stream().task(2).test
    assert (record.learner().predict(test.images) == test.labels).mean() > 0
    data.unlink()
    code = f"import everlearn; everlearn.Record({str(record.folder)!r}).stream()"
    missing = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "are not in memory; pass the same arrays to from_arrays again" in missing.stderr
