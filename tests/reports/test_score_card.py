from pathlib import Path
from typing import Any

import pytest

from everlearn.errors import BadInput
from everlearn.reports.score_card import (
    FAILED,
    MEASURED,
    NOT_APPLICABLE,
    NOT_RUN,
    ScoreCard,
    make_card,
    measures,
    read_cards,
)
from everlearn.runs import record
from everlearn.runs.sweep.suite import LONG, SuiteEntry, get_size

from .cards import card_of

NEAREST = SuiteEntry("nearest", get_size("smoke"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The long run of `nearest` only, without protocols."""
    folder = tmp_path_factory.mktemp("cards")
    job = NEAREST.job(LONG, 0, folder)
    for _ in record(job.spec, job.folder):
        pass
    return folder


def test_scores_come_from_the_records(root: Path) -> None:
    card = make_card(NEAREST, root, 1)
    assert card.scores["long"].status == MEASURED
    assert 0 <= card.scores["long"].values[0] <= 1
    assert card.scores["images"].values == (64.0,)
    assert card.scores["bytes"].values[0] > 0
    assert set(card.scores) == set(measures(NEAREST.size.lengths))
    assert list(card.digests) == ["long-seed-0"]
    assert card.supervision == "labelled images"


def test_missing_scores_say_why(root: Path) -> None:
    failed = str(NEAREST.job("nuisances", 0, root).folder)
    card = make_card(NEAREST, root, 1, {failed: "loss became nan"})
    status = {key: (score.status, score.reason) for key, score in card.scores.items()}
    assert status["one_shot"] == (
        NOT_APPLICABLE,
        "NearestMeanImage has no exemplar memory that can be edited",
    )
    assert status["nuisances"] == (FAILED, "loss became nan")
    assert status["worst_case"] == (NOT_RUN, "")
    assert ("nuisances", "failed", "loss became nan") in card.rows()


def test_learners_without_labels_are_not_applicable(tmp_path: Path) -> None:
    entry = SuiteEntry("cci-vae", get_size("smoke"))
    card = make_card(entry, tmp_path, 1)
    assert entry.jobs(tmp_path, 1) == []
    assert {score.status for score in card.scores.values()} == {NOT_APPLICABLE}


def test_cards_are_written_and_read(tmp_path: Path) -> None:
    card = card_of("er", 0.5)
    assert card.write(tmp_path / "small" / "er").name == "card.json"
    assert read_cards(tmp_path) == [card]
    (tmp_path / "small" / "er" / "card.json").write_text('{"name": "er"}')
    with pytest.raises(BadInput, match="no score card"):
        read_cards(tmp_path)


@pytest.mark.parametrize("change", [{"scores": {"long": {"values": ["x"]}}}, {"more": 1}, {"seeds": None}])
def test_damaged_cards_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="this is no score card"):
        ScoreCard.from_json({**card_of("er", 0.5).to_json(), **change})
