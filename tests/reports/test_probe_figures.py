"""Reports of unsupervised learners: probes instead of accuracy."""

from pathlib import Path

import pytest

from everlearn import reports
from everlearn.evaluation.probes import retention
from everlearn.plotting.axes import NothingToDraw
from everlearn.reports.run_results import RunResults
from everlearn.runs import Record, RunSpec, record

from .conftest import save_results

SETTINGS = {
    "stream.sequence": ["moving-sprites", "inverted-sprites"],
    "stream.image_size": 16,
    "stream.n_shapes": 2,
    "stream.images_per_shape": 60,
    "stream.images_per_stage": 96,
    "batch_size": 32,
    "evaluation.n_images": 4,
    "learner.size": "tiny",
}


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Two learners, one of them with two seeds, the other probed within tasks."""
    folder = tmp_path_factory.mktemp("probed")
    for learner, seed, every in (("vase", 0, 0), ("vase", 1, 0), ("cci-vae", 0, 2)):
        settings = {**SETTINGS, "seed": seed, "stream.seed": seed, "evaluation.every_n_batches": every}
        spec = RunSpec.make(stream="environments", learner=learner, settings=settings)
        *_, _last = record(spec, folder / f"{learner}-{seed}")
    return [Record(path) for path in sorted(folder.iterdir())]


def test_probe_curves_are_read_from_the_record(probed: list[Record]) -> None:
    results = RunResults.from_record(probed[0])
    assert results.task_starts == [0, 3, 6]
    curve = results.probe("moving-sprites", "object")
    assert list(curve) == [2, 3, 5, 6]
    assert list(curve.values()) == [row.results["moving-sprites"]["object"] for row in results.probe_results]
    assert not results.probe("inverted-sprites", "position")
    assert not results.probe("mnist", "object")


def test_comparison_contains_retention_instead_of_accuracy(probed: list[Record]) -> None:
    comparison = reports.compare(probed)
    headings = [column.heading for column in comparison.columns()]
    assert {"best", "Δ stage→end", "best MSE", "Δ MSE"} <= set(headings)
    assert not {"accuracy", "forgetting"} & set(headings)
    (single,) = (row for row in comparison.rows if row["learner"] == "cci-vae")
    rows = RunResults.from_record(Record(single["records"][0])).probe_results
    assert single["position_change"] == retention(rows, "moving-sprites", "position").change
    (two,) = (row for row in comparison.rows if row["learner"] == "vase")
    assert two["object_best_low"] <= two["object_best"] <= two["object_best_high"]


def test_comparison_contains_detection_and_latents(probed: list[Record], tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match="evaluate environments"):
        reports.figure("latent-usage", probed, tmp_path / "latents.svg")
    r2 = [0.0, 0.9, 0.0]
    latents = [
        {"name": "moving", "active": [True] * 3, "used": [True, True, False], "position_r2": r2},
        {"name": "still", "active": [True, False, True], "used": [True, False, False], "position_r2": []},
    ]
    rates = {"max_delay": 3.0, "false_new_rate": 1.25, "wrong_rate": 0.0}
    detection = {"n_changes": 2, "n_correct": 1, "n_missed": 0, **rates}
    for each in probed[1:]:
        found = detection if "vase" in each.folder.name else None
        save_results(each, "environments", {"stages": [], "latents": latents, "detection": found})
    evaluated = [Record(each.folder) for each in probed]
    cells = {
        (each.runs[0].record.spec["learner"]["name"], column.heading): column.cell(each)
        for column in reports.compare(evaluated).columns()
        for each in reports.compare(evaluated).groups
    }
    assert cells["vase", "changes found"] == "2 of 4", "both seeds together"
    assert cells["vase", "delay"] == "3"
    assert cells["vase", "false alarms"].startswith("1.250")
    assert cells["vase", "latents"] == "2 (1), 2 (1)"
    assert cells["cci-vae", "changes found"] == cells["cci-vae", "latents"] == "–"
    reports.figure("latent-usage", evaluated, tmp_path / "latents.svg")


def test_figures_of_unsupervised_learners(probed: list[Record], tmp_path: Path) -> None:
    reports.figure("probes", probed, tmp_path / "probes.svg")
    page = reports.html(probed[:1], tmp_path / "page.html").read_text()
    found = retention(RunResults.from_record(probed[0]).probe_results, "moving-sprites", "object")
    assert f"<dt>moving-sprites, object</dt><dd>final {found.final:.3f}, best {found.best:.3f}" in page
    with pytest.raises(NothingToDraw, match="probes"):
        reports.figure("accuracy", probed, tmp_path / "accuracy.svg")


def test_classifiers_have_no_probes(runs: dict[str, Record], tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match="classifiers"):
        reports.figure("probes", [runs["naive"]], tmp_path / "probes.svg")
