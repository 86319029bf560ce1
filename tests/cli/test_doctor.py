import json

import pytest

from .outcomes import Run


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.cli.doctor.PACE_SECONDS", 0.01)
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)


def test_doctor_says_what_there_is(run: Run) -> None:
    facts = json.loads(run("doctor", "--json").out)
    assert facts["devices"][0] == "cpu"
    assert facts["packages"]["torch"]
    assert facts["drawn_per_second"] > 0
    assert facts["learned_per_second"] > 0
    assert facts["free_disk_bytes"] > 0


def test_doctor_speaks_to_people(run: Run) -> None:
    out = run("doctor").out
    assert "images a second" in out
    assert "export to parquet" in out


def test_learners_are_listed_with_what_they_are_given(run: Run) -> None:
    facts = json.loads(run("learners", "--json").out)["learners"]
    assert facts["dcl"]["given"] == "labelled images, factor labels, exemplars"
    assert facts["er"]["settings"]["memory_size"] == {"default": 2000, "meaning": "images kept in all."}
    assert (facts["er"]["shareable"], facts["nearest"]["shareable"]) == (True, False)
    assert "Rehearse" in run("learners").out
    assert "shares its work" in run("learners").out
    assert "several processes can share its work" in run("learners", "er").out
    assert "learner.memory_size" in run("learners", "er").out
    assert run("learners", "ecr").err == "everlearn: unknown learner 'ecr'; did you mean 'er'?\n"
