import numpy as np
import pytest

from everlearn.learners.dcl_paper import DCLPaper
from everlearn.learners.exemplar_matching import Match
from everlearn.streams import sprites
from everlearn.streams.stream import Images

TASK = sprites(image_size=16, classes_per_task=3).task(0).for_learner()


def match(label: int, residual: float, runner_up: float) -> Match:
    return Match(np.array([label]), np.full((1, 4), residual), np.array([residual]), np.array([runner_up]))


def test_best_of_keeps_a_runner_up_of_another_class() -> None:
    best = match(1, 5.0, 9.0).best_of(match(2, 3.0, 5.0))
    assert (best.labels[0], best.residuals[0], best.runner_up_residuals[0], best.poses[0, 0]) == (2, 3, 5, 3)
    kept = match(1, 2.0, 9.0).best_of(match(1, 3.0, 4.0))
    assert (kept.labels[0], kept.residuals[0], kept.runner_up_residuals[0]) == (1, 2.0, 4.0)


def test_ratio_is_one_without_a_runner_up() -> None:
    assert match(1, 5.0, np.inf).ratios == [1.0]


def test_matches_are_cached_until_the_memory_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def match_all(images: Images) -> Match:
        calls.append(len(images))
        n = len(images)
        return Match(np.zeros(n, np.int64), np.zeros((n, 4)), np.zeros(n), np.ones(n))

    learner = DCLPaper.tiny()
    monkeypatch.setattr(learner, "match", match_all)
    learner.begin(TASK)
    images = np.zeros((300, 16, 16), np.uint8)
    learner.predict(images)
    learner.novelty(images.copy())
    assert calls == [256, 44]
    learner.memory.forget(TASK.labels[0])
    learner.predict(images)
    assert calls == [256, 44, 256, 44]


def test_exemplars_are_stored_once() -> None:
    learner = DCLPaper.tiny()
    learner.begin(TASK)
    learner.begin(TASK)
    assert len(learner.memory) == len(TASK.exemplars)
