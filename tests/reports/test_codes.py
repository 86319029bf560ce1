"""What reports say of learners that answer nothing: instead of accuracy, what their codes say."""

import json
from pathlib import Path

import pytest

from everlearn import reports
from everlearn.evaluation.probes import retention
from everlearn.reports.run_figures import NothingToDraw
from everlearn.reports.run_results import Findings
from everlearn.runs import Record, RunSpec, record

SETTINGS = {
    "stream.sequence": ["moving-sprites", "inverted-sprites"],
    "stream.image_size": 16,
    "stream.n_shapes": 2,
    "stream.images_per_shape": 60,
    "stream.images_per_stage": 96,
    "batch_size": 32,
    "evaluation.inside_every": 2,
    "evaluation.probe_size": 4,
    "learner.size": "tiny",
}


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Two learners, one of them under two seeds."""
    folder = tmp_path_factory.mktemp("probed")
    for learner, seed in (("vase", 0), ("vase", 1), ("cci-vae", 0)):
        settings = {**SETTINGS, "seed": seed, "stream.seed": seed}
        *_, _last = record(
            RunSpec.make(stream="environments", learner=learner, settings=settings),
            folder / f"{learner}-{seed}",
        )
    return [Record(path) for path in sorted(folder.iterdir())]


def test_probes_are_read_back(probed: list[Record]) -> None:
    found = Findings.of(probed[0])
    assert found.starts == [0, 3, 6]
    curve = found.probe("moving-sprites", "object")
    assert list(curve) == [2, 3, 5, 6]
    assert list(curve.values()) == [row.found["moving-sprites"]["object"] for row in found.probings]
    assert not found.probe("inverted-sprites", "position")
    assert not found.probe("mnist", "object")


def test_tables_say_what_was_kept(probed: list[Record]) -> None:
    comparison = reports.compare(probed)
    headings = [column.heading for column in comparison.columns()]
    assert {"best", "change", "closest", "drift"} <= set(headings)
    assert not {"accuracy", "forgetting"} & set(headings)
    (alone,) = (row for row in comparison.rows if row["learner"] == "cci-vae")
    rows = Findings.of(Record(alone["records"][0])).probings
    assert alone["position_change"] == retention(rows, "moving-sprites", "position").change
    (two,) = (row for row in comparison.rows if row["learner"] == "vase")
    assert two["object_best_low"] <= two["object_best"] <= two["object_best_high"]


def answered(record: Record, **facts: object) -> Record:
    """The same record, with an answer as `everlearn protocol environments` keeps it."""
    folder = record.folder / "protocols"
    folder.mkdir(exist_ok=True)
    (folder / "environments.json").write_text(json.dumps({**facts, "digest": record.digest}))
    return Record(record.folder)


def test_what_was_made_of_environments_is_told(probed: list[Record], tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match="protocol environments"):
        reports.figure("latents", probed, tmp_path / "latents.svg")
    rows = [
        {"name": "moving", "open": [True, True, True], "used": [True, True, False], "places": [1]},
        {"name": "still", "open": [True, False, True], "used": [True, False, False], "places": []},
    ]
    found = {"n_right": 1, "n_changes": 2, "latest": 3.0, "false_new": 1.25}
    for each in probed[1:]:
        answered(each, latents=rows, detection=found if "vase" in each.folder.name else None)
    asked = [Record(each.folder) for each in probed]
    cells = {
        (each.runs[0].record.spec["learner"]["name"], column.heading): column.cell(each)
        for column in reports.compare(asked).columns()
        for each in reports.compare(asked).groups
    }
    assert cells["vase", "switches"] == "2 of 4", "both seeds together"
    assert cells["vase", "noticed"] == "3"
    assert cells["vase", "made up"].startswith("1.250")
    assert cells["vase", "latents"] == "2 (1), 2 (1)"
    assert cells["cci-vae", "switches"] == cells["cci-vae", "latents"] == "–"
    reports.figure("latents", asked, tmp_path / "latents.svg")


def test_figures_show_probes_and_no_empty_accuracy(probed: list[Record], tmp_path: Path) -> None:
    reports.figure("probes", probed, tmp_path / "probes.svg")
    page = reports.html(probed, tmp_path / "page.html").read_text()
    kept = retention(Findings.of(probed[0]).probings, "moving-sprites", "object")
    assert f"<dt>moving-sprites, object</dt><dd>final {kept.final:.3f}, best {kept.best:.3f}" in page
    with pytest.raises(NothingToDraw, match="probes"):
        reports.figure("accuracy", probed, tmp_path / "accuracy.svg")


def test_learners_that_answer_have_no_probes(runs: dict[str, Record], tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match="answer"):
        reports.figure("probes", [runs["naive"]], tmp_path / "probes.svg")
