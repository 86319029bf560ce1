"""The paper's exhibits at every size: complete, valid, and about runs that can be played."""

from pathlib import Path
from typing import Any

import pytest

from everlearn.papers import Line
from everlearn.papers.sprites import SPRITES
from everlearn.runs import play
from everlearn.runs.events import Scored

ROOT = Path(__file__).parents[2]
PROMISED = [
    *(f"figure-{number}" for number in range(3, 9)), "table-1", "figure-9", "figure-10",
    "appendix-agem", "appendix-der", "rivals",
]  # fmt: skip

EXHIBITS, SCALES = SPRITES.exhibits, SPRITES.scales


def test_every_promised_exhibit_is_there() -> None:
    assert [exhibit.name for exhibit in EXHIBITS] == PROMISED


def test_the_papers_size_is_the_papers() -> None:
    (paper,) = (scale for scale in SCALES if scale.name == "paper")
    (job,) = paper.some(["er 20k"])[0].jobs(Path())
    spec = job.spec
    stream = spec.stream.to_mapping()
    assert (spec.n_tasks, spec.epochs, spec.batch_size) == (500, 5, 256)
    assert (stream["classes_per_task"], stream["factor_values"]) == (10, 5)
    assert spec.learner.settings["backbone"] == "resnet18"
    assert spec.learner.settings["memory_size"] == 20_000


def test_first_tasks_are_the_same_run_cut_short(tmp_path: Path) -> None:
    (whole,), (begun,) = (
        scale.some(["er 20k"])[0].jobs(tmp_path)
        for scale in (SPRITES.scale("paper"), SPRITES.scale("paper").begun(2, "cpu"))
    )
    assert whole.folder != begun.folder
    assert (begun.spec.n_tasks, begun.spec.device) == (2, "cpu")
    assert (begun.spec.stream, begun.spec.learner) == (whole.spec.stream, whole.spec.learner)


@pytest.mark.slow
@pytest.mark.parametrize("line", SPRITES.scale("paper").begun(1, "cpu").lines, ids=lambda line: line.name)
def test_the_papers_size_can_be_played(line: Line, tmp_path: Path) -> None:
    """Images, networks, buffers and learners are the paper's; only two classes of 16 images, seen once."""
    few: dict[str, Any] = {
        "stream.factor_values": 2,
        "stream.classes_per_task": 2,
        "evaluation.probe_size": 10,
        "epochs": 1,
        "batch_size": 32,
    }
    if "learner.weights" in line.settings:
        few["learner.weights"] = ""  # these can only be had from a hub
    (job,) = line.changed(few, "few").jobs(tmp_path)
    (score,) = (event for event in play(job.spec) if isinstance(event, Scored))
    assert sum(score.total) == len(job.spec.stream.build().task(0).test)
