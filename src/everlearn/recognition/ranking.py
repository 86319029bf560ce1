"""Choice of the best of the exemplars that were aligned with an image."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from everlearn.recognition.evidence import outline_overlap
from everlearn.recognition.gallery import Gallery
from everlearn.rng import FloatArray, IntArray

if TYPE_CHECKING:
    from everlearn.recognition.matching import View

VERIFIED = 0.25
"""Explained share from which on alignment has found the exemplar in the image."""
LIKELY = 0.8
"""Similarity after alignment plus explained share from which on it has probably found the exemplar."""
FITS, OUTLINE_WEIGHT = 0.5, 2.0
"""Explained share from which on outlines count, and their weight if everything is explained."""

Scores = tuple[float, float, float, float, float, float, float, float]
"""Inputs of the confidence.

Similarity, margin to the next class, explained share, 0 if the object was not cut out; similarity after
alignment, how far the outlines agree, 1 if the image is noisy, and 1 if an occluder was found.
"""
Aligned = tuple[int, float, FloatArray]
"""Row, explained share and transform of an exemplar."""


@dataclass(frozen=True, eq=False)
class Match:
    """The best exemplar of an image.

    Attributes:
        row: its row in the gallery.
        label: its class.
        runner_up: the next class; None if there is none.
        scores: as explained at `Scores`.
        transform: (3, 3) from the exemplar's frame, -1 to 1, to pixels of the image.
    """

    row: int
    label: int
    runner_up: int | None
    scores: Scores
    transform: FloatArray

    @property
    def is_verified(self) -> bool:
        """Whether alignment has found the exemplar in the image."""
        return self.scores[2] >= VERIFIED

    @property
    def likeness(self) -> float:
        """Similarity plus explained share."""
        similarity, _, explained, *_ = self.scores
        return similarity + explained

    @property
    def is_likely(self) -> bool:
        """Whether alignment has probably found the exemplar in the image."""
        return self.likeness >= LIKELY


def outline_score(view: "View", gallery: Gallery, row: int, explained: float, transform: FloatArray) -> float:
    """Bonus for an aligned exemplar whose outline fits; 0 if its pixels do not."""
    fits = max(0.0, explained - FITS) / (1 - FITS)
    return OUTLINE_WEIGHT * fits * outline_overlap(view, gallery, row, transform) if fits else 0.0


def best_match(
    view: "View",
    gallery: Gallery,
    aligned: list[Aligned],
    by_row: FloatArray,
    rows: IntArray,
    weight: float,
    outlines: FloatArray | float = 0.0,
) -> Match:
    """The aligned exemplar with the largest similarity and, times `weight`, explained share.

    If there is no other class, the margin is 0.

    Args:
        view: of the image.
        gallery: with the exemplars.
        aligned: rows that were aligned, their explained shares and transforms.
        by_row: (n,) the similarity of each exemplar.
        rows: the other candidates for the second place.
        weight: of the explained share.
        outlines: score of the outline of each aligned exemplar, which affects the choice but not the margin.
    """
    totals = [(float(by_row[each[0]] + weight * each[1]), *each) for each in aligned]
    best = int(np.argmax(np.array([each[0] for each in totals]) + outlines))
    total, row, explained, transform = totals.pop(best)
    others = rows[gallery.labels[rows] != gallery.labels[row]]
    next_total, next_row = max(_next(others, totals, by_row), default=(total, None))
    return Match(
        row=row,
        label=int(gallery.labels[row]),
        runner_up=None if next_row is None else int(gallery.labels[next_row]),
        scores=(
            float(by_row[row]),
            float(total - next_total),
            float(explained),
            float(view.is_cut_out),
            *(0.0, 0.0, 0.0, 0.0),
        ),
        transform=transform,
    )


def _next(
    rows: IntArray, aligned: list[tuple[float, int, float, FloatArray]], by_row: FloatArray
) -> Iterator[tuple[float, int]]:
    """The totals of other classes: those that were aligned, and the similarity of the rest."""
    done = {row for _, row, _, _ in aligned}
    yield from ((total, row) for total, row, _, _ in aligned if row in rows)
    yield from ((float(by_row[row]), row) for row in rows.tolist() if row not in done)


def best_of_classes(by_row: FloatArray, labels: IntArray) -> IntArray:
    """The best row of each class, best first; rows of -2 are left out."""
    order = np.argsort(-by_row, kind="stable")
    order = order[by_row[order] > -2.0]
    _, first = np.unique(labels[order], return_index=True)
    return order[np.sort(first)]
