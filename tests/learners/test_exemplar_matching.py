import numpy as np

from everlearn.learners.exemplar_matching import ExemplarMatcher, Match
from everlearn.streams import sprites
from everlearn.streams.stream import Images


def match(label: int, residual: float, runner_up: float) -> Match:
    return Match(np.array([label]), np.full((1, 4), residual), np.array([residual]), np.array([runner_up]))


def test_best_of_keeps_a_runner_up_of_another_class() -> None:
    best = match(1, 5.0, 9.0).best_of(match(2, 3.0, 5.0))
    assert (best.labels[0], best.residuals[0], best.runner_up_residuals[0], best.poses[0, 0]) == (2, 3, 5, 3)
    kept = match(1, 2.0, 9.0).best_of(match(1, 3.0, 4.0))
    assert (kept.labels[0], kept.residuals[0], kept.runner_up_residuals[0]) == (1, 2.0, 4.0)


def test_ratio_is_one_without_a_runner_up() -> None:
    assert match(1, 5.0, np.inf).ratios == [1.0]


def test_matches_are_cached_until_the_memory_changes() -> None:
    calls = []

    def match_all(images: Images) -> Match:
        calls.append(len(images))
        n = len(images)
        return Match(np.zeros(n, np.int64), np.zeros((n, 4)), np.zeros(n), np.ones(n))

    exemplars = sprites(image_size=16, classes_per_task=3).task(0).exemplars
    matcher = ExemplarMatcher(match_all, lambda match, images: match.ratios, block=2)
    matcher.add_exemplars(exemplars)
    images = np.zeros((300, 16, 16), np.uint8)
    matcher.predict(images)
    matcher.novelty(images.copy())
    assert calls == [256, 44]
    matcher.memory.forget(int(exemplars.labels[0]))
    matcher.predict(images)
    assert calls == [256, 44, 256, 44]


def test_exemplars_are_stored_once() -> None:
    exemplars = sprites(image_size=16, classes_per_task=3).task(0).exemplars
    matcher = ExemplarMatcher(lambda images: match(0, 0, 0), lambda match, images: match.ratios, block=2)
    matcher.add_exemplars(exemplars)
    matcher.add_exemplars(exemplars)
    assert len(matcher.memory) == len(exemplars)
