"""`everlearn protocol environments`: asked of a finished run, kept in its record, and shown."""

import json
from pathlib import Path

import pytest

from everlearn import runs

from .outcomes import Run, assert_refused

WORDS = (
    'stream.sequence=["moving-sprites","inverted-sprites"]',
    "stream.image_size=16",
    "stream.n_shapes=2",
    "stream.images_per_shape=40",
    "stream.images_per_stage=32",
    "evaluation.probe_size=4",
    "batch_size=16",
    "learner.size=tiny",
    "learner.n_latents=4",
)


@pytest.fixture
def stages(run: Run, records: Path) -> Path:
    words = [word for setting in WORDS for word in ("--set", setting)]
    outcome = run(
        "run", "--stream", "environments", "--learner", "vase", *words, "--record", "records/stages"
    )
    assert outcome.code == 0, outcome.err
    return records / "stages"


def test_a_learner_is_asked_where_it_was(run: Run, stages: Path) -> None:
    before = runs.Record(stages).digest
    facts = json.loads(run("protocol", "environments", "records/stages", "--size", "4", "--json").out)
    assert [stage["name"] for stage in facts["stages"]] == ["moving-sprites", "inverted-sprites"]
    assert facts["detection"]["n_changes"] == 1
    assert json.loads((stages / "protocols" / "environments.json").read_text()) == facts
    assert runs.Record(stages).digest == before
    assert "taken for" in run("protocol", "environments", "records/stages", "--size", "4").out
    assert run("plot", "latents", "records/stages").code == 0
    assert run("plot", "probes", "records/stages").code == 0
    assert "drift" in run("compare", "records/stages").out


def test_nonsense_is_a_sentence(run: Run, stages: Path) -> None:
    assert_refused(run("protocol", "environments", "records/stages", "--size", "0"))
    assert_refused(run("protocol", "environments", "records/nearest"))
    assert not (stages / "protocols").exists()
