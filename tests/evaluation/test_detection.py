"""Stages worked by hand: found, missed, mistaken, made up."""

import math

import pytest

from everlearn.evaluation.change_detection import detection, summed_up

ABCA = (["a", "b", "c", "a"], [100] * 4)


def told(changes: list[tuple[int, int]]) -> list[tuple[str, float, int, int]]:
    return [(s.found, s.delay, s.false_new, s.wrong) for s in detection(*ABCA, changes)]


def test_everything_is_noticed_on_the_third_batch() -> None:
    changes = [(103, 1), (203, 2), (303, 0)]
    assert told(changes) == [("new", 0, 0, 0), ("new", 3, 0, 0), ("new", 3, 0, 0), ("known", 3, 0, 0)]
    whole = summed_up(detection(*ABCA, changes), 400)
    assert (whole.n_changes, whole.n_right, whole.n_missed, whole.latest) == (3, 3, 0, 3)
    assert whole.false_new == whole.wrong == 0


def test_nothing_is_noticed() -> None:
    stages = detection(*ABCA, [])
    assert [stage.found for stage in stages] == ["new", "missed", "missed", "known"]
    assert [stage.is_right for stage in stages] == [True, False, False, True], "it never left a"
    assert math.isnan(stages[1].delay)
    assert summed_up(stages, 400).n_missed == 2


def test_one_that_returns_is_taken_for_new() -> None:
    stages = detection(*ABCA, [(103, 1), (203, 2), (305, 3)])
    last = stages[-1]
    assert (last.found, last.delay, last.false_new, last.is_right) == ("new", 5, 1, False)
    assert summed_up(stages, 400).false_new == pytest.approx(25)


def test_an_environment_is_made_up_in_the_middle_of_a_stage() -> None:
    assert told([(50, 1), (103, 2), (150, 3), (203, 4), (303, 1)]) == [
        ("new", 0, 1, 0),
        ("new", 3, 1, 0),
        ("new", 3, 0, 0),
        ("known", 3, 0, 0),
    ], "what was made up in a belongs to a: whoever returns there is right"


def test_a_move_to_the_wrong_place_is_no_finding() -> None:
    """b is found first; c is taken for a, then for itself; at last it never leaves c."""
    stages = detection(*ABCA, [(103, 1), (204, 0), (240, 2)])
    assert [(s.found, s.wrong) for s in stages] == [("new", 0), ("new", 0), ("new", 1), ("missed", 0)]
    assert stages[2].delay == 40
    assert summed_up(stages, 400).latest == 40


def test_a_stage_that_goes_on_needs_no_notice() -> None:
    stages = detection(["a", "a", "b"], [10, 10, 10], [(23, 1)])
    assert [(s.found, s.delay) for s in stages] == [("new", 0), ("known", 0), ("new", 3)]
    assert summed_up(stages, 30).n_changes == 1
