"""Learners that answer nothing are probed; the run does not notice."""

import math
from pathlib import Path
from typing import Any

import pytest

from everlearn.runs import Record, RunSpec, play, record, resume
from everlearn.runs import events as tell
from everlearn.runs.loop import Play
from everlearn.runs.trackers import figures

from .conftest import finish

STAGES = {
    "stream.sequence": ["moving-sprites", "sprites", "moving-sprites"],
    "stream.image_size": 16,
    "stream.n_shapes": 2,
    "stream.images_per_shape": 40,
    "stream.images_per_stage": 64,
    "batch_size": 16,
    "evaluation.probe_size": 8,
    "learner.size": "tiny",
}


def spec(**settings: Any) -> RunSpec:
    return RunSpec.make(stream="environments", learner="vase", settings={**STAGES, **settings})


def test_all_environments_are_probed_from_the_beginning() -> None:
    told = [event for event in play(spec(**{"evaluation.inside_every": 3})) if isinstance(event, tell.Probed)]
    assert [(each.task, each.batch) for each in told] == [(k, b) for k in range(3) for b in (3, None)]
    assert [each.shown for each in told[::2]] == ["moving-sprites", "sprites", "moving-sprites"]
    for each in told:
        assert list(each.found) == ["moving-sprites", "sprites"]
        assert list(each.found["moving-sprites"]) == ["object", "position", "scale", "angle"]
        assert "position" not in each.found["sprites"]
        assert 0 <= each.accuracy <= 1
        assert all(math.isfinite(value) for found in each.found.values() for value in found.values())
    assert figures(told[0])["probe/sprites/object"] == told[0].found["sprites"]["object"]


def test_a_run_does_not_notice_that_it_is_probed() -> None:
    often = finish(play(spec(**{"evaluation.inside_every": 1})))
    seldom = finish(play(spec(**{"evaluation.every": 100, "evaluation.probe_size": 3})))
    assert often.digest == seldom.digest


def test_how_many_images_teach_probes_is_a_setting() -> None:
    shown = Play(spec(**{"evaluation.lesson_size": 20}))._scenes
    assert [len(scene.lesson) for scene in shown] == [20, 20]
    assert RunSpec.from_mapping(spec().to_mapping()).evaluation.lesson_size is None


def test_whatever_has_labels_can_be_probed() -> None:
    sprites = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2, "evaluation.probe_size": 8}
    settings = {**sprites, "learner.size": "tiny"}
    told = list(play(RunSpec.make(stream="sprites", learner="cci-vae", settings=settings)))
    assert [each.shown for each in told if isinstance(each, tell.Probed)] == ["all", "all"]


@pytest.mark.parametrize("moment", [tell.Learned, tell.Scoring])
def test_a_run_that_was_stopped_tells_the_same(tmp_path: Path, moment: type[tell.Event]) -> None:
    often = spec(**{"evaluation.inside_every": 2})
    finish(record(often, tmp_path / "calm"))
    story = record(often, tmp_path / "stopped")
    for event in story:
        if isinstance(event, moment) and event.task == 1:  # type: ignore[attr-defined]  # both have a task
            story.close()  # type: ignore[attr-defined]  # a generator
    finish(resume(tmp_path / "stopped"))
    calm, stopped = Record(tmp_path / "calm"), Record(tmp_path / "stopped")
    assert list(calm.probes()) == list(stopped.probes())
    assert len(list(calm.probes())) == 3 * 3
    assert calm.digest == stopped.digest
    assert not (calm.folder / "scores.jsonl").exists()


def test_answering_learners_have_no_probes(tmp_path: Path) -> None:
    finish(
        record(
            RunSpec.make(learner="nearest", settings={"stream.image_size": 16, "n_tasks": 1}), tmp_path / "r"
        )
    )
    assert not list(Record(tmp_path / "r").probes())
    assert not (tmp_path / "r" / "probes.jsonl").exists()
