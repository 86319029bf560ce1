import json
from pathlib import Path

import pytest

from everlearn import runs

from .outcomes import Run, assert_refused, tree


def test_oneshot_answers_and_keeps_the_answer(run: Run, records: Path) -> None:
    facts = json.loads(
        run("protocol", "oneshot", "records/dcl", "--new", "2,5", "--size", "20", "--json").out
    )
    assert [shots["n_new"] for shots in facts["shots"]] == [2, 5]
    assert (facts["n_old"], facts["tasks"]) == (6, 2)
    assert json.loads((records / "dcl" / "protocols" / "oneshot.json").read_text()) == facts


def test_a_question_does_not_change_the_run(run: Run, records: Path) -> None:
    before = runs.Record("records/dcl").digest
    out = run("protocol", "oneshot", "records/dcl", "--new", "3").out
    assert "beside old ones" in out
    assert runs.Record("records/dcl").digest == before


@pytest.mark.parametrize("record", ["records/dcl", "records/nearest"])
def test_transfer_compares_trained_and_held_out(run: Run, records: Path, record: str) -> None:
    facts = json.loads(run("protocol", "transfer", record, "--json").out)
    assert facts["n_held_out"] == 2 * 6
    assert 0 <= facts["held_out"] <= 1
    assert set(facts["held_out_errors"]) == set(facts["trained_errors"])
    assert "held out" in run("protocol", "transfer", record).out


def test_openset_answers_with_areas(run: Run, records: Path) -> None:
    facts = json.loads(run("protocol", "openset", "records/dcl", "--size", "20", "--json").out)
    for curve in ("roc", "precision_recall", "acceptance"):
        assert 0 <= facts[curve]["area"] <= 1
        assert len(facts[curve]["x"]) == len(facts[curve]["y"])
    assert facts["roc"]["area"] == pytest.approx(facts["acceptance"]["area"])


def test_online_plays_the_other_run_once(run: Run, records: Path) -> None:
    facts = json.loads(run("protocol", "online", "records/nearest", "--epochs", "2", "--json").out)
    assert facts["offline"]["record"] == "records/nearest-epochs-2"
    assert facts["offline"]["images"] == 2 * facts["online"]["images"]
    before = tree(records / "nearest-epochs-2" / "checkpoint")
    assert json.loads(run("protocol", "online", "records/nearest", "--epochs", "2", "--json").out) == facts
    assert tree(records / "nearest-epochs-2" / "checkpoint") == before


@pytest.mark.parametrize(
    "words",
    [
        ("oneshot", "records/nearest"),
        ("oneshot", "records/dcl", "--new", "0"),
        ("oneshot", "records/dcl", "--new", "ten"),
        ("oneshot", "records/dcl", "--new", "1.5"),
        ("oneshot", "records/dcl", "--new", ""),
        ("oneshot", "records/dcl", "--size", "0"),
        ("oneshot", "missing"),
        ("openset", "records/nearest"),
        ("openset", "records/dcl", "--accepted", "2"),
        ("openset", "records/dcl", "--size", "-1"),
        ("transfer", "records/dcl", "--size", "many"),
        ("transfer", "records"),
        ("online", "records/dcl", "--epochs", "1"),
        ("online", "missing"),
        ("twoshot", "records/dcl"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(run: Run, records: Path, words: tuple[str, ...]) -> None:
    before = tree(records)
    assert_refused(run("protocol", *words))
    assert tree(records) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("traversal", "records/dcl"), "describes and draws nothing"),
        (("translation", "records/dcl"), "tells no environments apart"),
        (("ambiguity", "records/nearest"), "tells no environments apart"),
        (("disentanglement", "records/dcl"), "does not describe images by numbers"),
        (("traversal", "missing"), "missing"),
    ],
)
def test_whoever_lacks_the_power_is_told_who_has_it(
    run: Run, records: Path, words: tuple[str, ...], told: str
) -> None:
    before = tree(records)
    outcome = run("protocol", *words)
    assert_refused(outcome)
    assert told in outcome.err
    assert tree(records) == before
