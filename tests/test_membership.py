"""The page on erasing matches its record; what is not trained keeps no trace of an erased class."""

import json

import numpy as np
import pytest
from benchmarks import membership

from everlearn.streams import sprites


def test_page_matches_the_record() -> None:
    text = membership.PAGE.read_text("utf-8")
    assert membership.with_table(text) == text, "run `python -m benchmarks.membership --page`"


def test_record_covers_enough_classes_and_seeds() -> None:
    rows = json.loads(membership.RECORD.read_text("utf-8"))["rows"]
    for method in (*membership.LEARNERS, "teach"):
        some = [row for row in rows if row["method"] == method]
        assert len({row["seed"] for row in some}) >= 3
        assert len(some) / len({row["attack"] for row in some}) >= 20


def test_area_is_one_for_familiar_and_half_for_equal_images() -> None:
    low, high = {"novelty": np.zeros(4)}, {"novelty": np.ones(4)}
    areas = membership._areas({"before": (low, high), "erased": (low, low), "reference": (high, low)})
    assert areas == {"novelty": {"before": 1.0, "erased": 0.5, "reference": 0.0}}


@pytest.mark.parametrize("name", ["dcl, moments", "dcl-features"])
def test_untrained_learners_keep_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "LEARNERS", {name: membership.LEARNERS[name]})
    monkeypatch.setattr(membership, "N_TASKS", 2)
    stream = sprites(image_size=16, factor_values=3, classes_per_task=membership.CLASSES_PER_TASK)
    ((_, areas),) = membership._learner_areas(stream, 0, 1)
    for each in areas.values():
        assert each["erased"] == each["reference"]
        assert each["before"] > each["erased"]


@pytest.mark.more
def test_a_class_that_was_taught_is_recognised_by_the_attack() -> None:
    rows = membership.run(seeds=(0,), n_erased=1)
    before = {(row["method"], row["attack"]): row["before"] for row in rows}
    assert before["dcl", "novelty"] > 0.9
    assert before["dcl-features", "novelty"] > 0.9
