"""Detection of environment changes, with results computed by hand."""

import pytest

from everlearn.evaluation.change_detection import detect_stages, summarize_detection

ABCA = (["a", "b", "c", "a"], [100] * 4)


def stages(changes: list[tuple[int, int]]) -> list[tuple[str, float | None, int, int]]:
    return [(s.detected, s.delay, s.n_false_new, s.n_wrong) for s in detect_stages(*ABCA, changes)]


def test_all_changes_detected_on_the_third_batch() -> None:
    changes = [(103, 1), (203, 2), (303, 0)]
    assert stages(changes) == [("new", 0, 0, 0), ("new", 3, 0, 0), ("new", 3, 0, 0), ("known", 3, 0, 0)]
    summary = summarize_detection(detect_stages(*ABCA, changes), 400)
    assert (summary.n_changes, summary.n_correct, summary.n_missed, summary.max_delay) == (3, 3, 0, 3)
    assert summary.false_new_rate == summary.wrong_rate == 0


def test_no_change_detected() -> None:
    found = detect_stages(*ABCA, [])
    assert [stage.detected for stage in found] == ["new", "missed", "missed", "known"]
    assert [stage.is_correct for stage in found] == [True, False, False, True], "it never left a"
    assert found[1].delay is None
    summary = summarize_detection(found, 400)
    assert (summary.n_missed, summary.max_delay) == (2, 0)


def test_recurring_environment_detected_as_new() -> None:
    found = detect_stages(*ABCA, [(103, 1), (203, 2), (305, 3)])
    last = found[-1]
    assert (last.detected, last.delay, last.n_false_new, last.is_correct) == ("new", 5, 1, False)
    assert summarize_detection(found, 400).false_new_rate == pytest.approx(25)


def test_false_new_environment_within_a_stage_belongs_to_that_stage() -> None:
    assert stages([(50, 1), (103, 2), (150, 3), (203, 4), (303, 1)]) == [
        ("new", 0, 1, 0),
        ("new", 3, 1, 0),
        ("new", 3, 0, 0),
        ("known", 3, 0, 0),
    ], "environment 1 was inferred in a, so switching to it in a is correct"


def test_switch_to_a_wrong_environment_is_no_detection() -> None:
    found = detect_stages(*ABCA, [(103, 1), (204, 0), (240, 2)])
    assert [(s.detected, s.n_wrong) for s in found] == [("new", 0), ("new", 0), ("new", 1), ("missed", 0)]
    assert found[2].delay == 40
    assert summarize_detection(found, 400).max_delay == 40


def test_continued_stage_is_no_change() -> None:
    found = detect_stages(["a", "a", "b"], [10, 10, 10], [(23, 1)])
    assert [(s.detected, s.delay) for s in found] == [("new", 0), ("known", 0), ("new", 3)]
    assert summarize_detection(found, 30).n_changes == 1
