import numpy as np
import pytest

from everlearn.learners.dcl_paper import DCLPaper
from everlearn.learners.exemplar_matching import ExemplarMatch
from everlearn.streams import sprites
from everlearn.streams.stream import Images

TASK = sprites(image_size=16, classes_per_task=3).task(0).for_learner()


def match(label: int, residual: float, runner_up: float) -> ExemplarMatch:
    """One match; the label of the runner-up is 10 times its residual."""
    other = -1 if np.isinf(runner_up) else int(10 * runner_up)
    values = (np.array([label]), np.full((1, 4), residual), np.array([residual]), np.array([runner_up]))
    return ExemplarMatch(*values, np.array([other]))


def test_best_of_keeps_a_runner_up_of_another_class() -> None:
    best = match(1, 5.0, 9.0).best_of(match(2, 3.0, 5.0))
    assert (best.labels[0], best.residuals[0], best.runner_up_residuals[0], best.poses[0, 0]) == (2, 3, 5, 3)
    kept = match(1, 2.0, 9.0).best_of(match(1, 3.0, 4.0))
    assert (kept.labels[0], kept.residuals[0], kept.runner_up_residuals[0]) == (1, 2.0, 4.0)
    assert (best.runner_up_labels[0], kept.runner_up_labels[0]) == (1, 40)
    last = match(2, 3.0, 4.0).best_of(match(1, 5.0, 3.5))
    assert (last.runner_up_residuals[0], last.runner_up_labels[0]) == (4.0, 40)


def test_ratio_is_one_without_a_runner_up() -> None:
    assert match(1, 5.0, np.inf).ratios == [1.0]
    alone = ExemplarMatch.of_candidates(np.array([[3, 3]]), np.array([[2.0, 1.0]]), np.zeros((1, 4)))
    assert (alone.runner_up_labels[0], alone.ratios[0]) == (-1, 1.0)


def test_matches_are_cached_until_the_memory_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def match_all(images: Images) -> ExemplarMatch:
        calls.append(len(images))
        n = len(images)
        labels = np.zeros(n, np.int64)
        return ExemplarMatch(labels, np.zeros((n, 4)), np.zeros(n), np.ones(n), labels + 1)

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


def calibrated() -> DCLPaper:
    """A learner with novelty scores of classes 0 and 1, each beside another one."""
    learner = DCLPaper.tiny()
    learner.begin(TASK)
    pairs = ((0, 1), (0, 2), (1, 2), (1, 0), (2, 1))
    for i, (label, other) in enumerate(pairs):
        found = ExemplarMatch.of_candidates(
            np.array([[label, other]]), np.array([[1.0, 9.0]]), np.zeros((1, 4))
        )
        learner.exemplars.keep_known(np.array([float(i)]), found)
    return learner


def test_scores_that_depend_on_a_forgotten_class_are_erased() -> None:
    learner = calibrated()
    learner.memory.forget(0)
    state = learner.state()["exemplars"]
    assert state["known_scores"].tolist() == [2.0, 4.0]
    assert state["known_classes"] == [[1, 2], [2, 1]]
    again = DCLPaper.tiny()
    again.load(learner.state())
    assert again.exemplars.known_scores.tolist() == [2.0, 4.0]


def test_scores_of_a_state_without_classes_are_erased_with_any_class() -> None:
    state = calibrated().state()
    del state["exemplars"]["known_classes"]
    learner = DCLPaper.tiny()
    learner.load(state)
    assert len(learner.state()["exemplars"]["known_scores"]) == 5
    learner.memory.forget(0)
    assert len(learner.state()["exemplars"]["known_scores"]) == 0
