"""Outlines decide between exemplars whose pixels fit, and many classes that are alike are searched for."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from everlearn.recognition import matching, ranking
from everlearn.recognition.ranking import FITS, OUTLINE_WEIGHT, best_match, best_of_classes, outline_score

SEEN: Any = SimpleNamespace(is_cut_out=True)
GALLERY: Any = SimpleNamespace(labels=np.array([0, 0, 1, 2]))
AS_IT_IS = np.eye(3)


def test_the_outline_decides_and_the_margin_is_without_it() -> None:
    by_row, rows = np.array([0.6, 0.1, 0.5, 0.2]), np.array([0, 2, 3])
    aligned = [(0, 0.8, AS_IT_IS), (2, 0.9, AS_IT_IS)]
    plain = best_match(SEEN, GALLERY, aligned, by_row, rows, 0.2)
    assert (plain.row, plain.label, plain.runner_up) == (0, 0, 1)
    assert plain.scores[:3] == pytest.approx((0.6, 0.76 - 0.68, 0.8))
    outlined = best_match(SEEN, GALLERY, aligned, by_row, rows, 0.2, np.array([0.5, 0.7]))
    assert (outlined.row, outlined.label, outlined.runner_up) == (2, 1, 0)
    assert outlined.scores[:3] == pytest.approx((0.5, 0.68 - 0.76, 0.9))


def test_an_outline_says_nothing_unless_the_pixels_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "outline_overlap", lambda *_: 0.75)
    assert outline_score(SEEN, GALLERY, 0, FITS, AS_IT_IS) == 0.0
    assert outline_score(SEEN, GALLERY, 0, 1.0, AS_IT_IS) == pytest.approx(OUTLINE_WEIGHT * 0.75)
    assert outline_score(SEEN, GALLERY, 0, (1 + FITS) / 2, AS_IT_IS) == pytest.approx(
        OUTLINE_WEIGHT * 0.75 / 2
    )


def test_the_best_row_of_each_class() -> None:
    assert best_of_classes(np.array([0.1, 0.4, 0.9, -2.0]), GALLERY.labels).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("similarities", "expected"),
    [
        ([0.9, 0.3, 0.2], (1, matching.N_ALIGNED)),
        ([0.9, 0.8, 0.2], (matching.N_LOCATED, matching.N_ALIGNED)),
        (np.linspace(0.9, 0.8, 30), (30, matching.N_ALIGNED_ALIKE)),
        (np.linspace(0.9, 0.8, 300), (matching.MAX_ALIKE, matching.N_ALIGNED_ALIKE)),
    ],
)
def test_more_classes_are_tried_if_many_are_alike(similarities: Any, expected: tuple[int, int]) -> None:
    assert matching._n_candidates(SEEN, np.array(similarities)) == expected
    scene: Any = SimpleNamespace(is_cut_out=False)
    assert matching._n_candidates(scene, np.array(similarities)) <= (matching.N_LOCATED, matching.N_ALIGNED)
