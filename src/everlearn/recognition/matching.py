"""The comparison of an image with all exemplars: by descriptors, then by alignment of the best ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.recognition.features import Descriptors, Features, PretrainedFeatures
from everlearn.recognition.gallery import Gallery, Pyramid
from everlearn.recognition.views import crop
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.images.canonical import CutOut, cut_out, smoothed
from everlearn.streams.images.decode import Pixels
from everlearn.streams.stream import Images

WINDOW_SIZE = 224
WINDOW_SIDES = (2, 3, 4, 5)
"""Size of an image that is searched for an object in front of a background, and the windows in cells."""
N_LOCATED, N_ALIGNED = 8, 3
"""Exemplars whose position is searched, and those that are aligned exactly."""
CLEAR_MARGIN = 0.3
"""With a similarity so far above that of the next class, only the best exemplar is aligned."""
VERIFIED = 0.25
"""Share of an image that an exemplar explains if it has been found."""

Scores = tuple[float, float, float]
"""Similarity, margin to the next class, and explained share."""


@dataclass(frozen=True, eq=False)
class Match:
    """The best exemplar of an image.

    Attributes:
        row: its row in the gallery.
        label: its class.
        runner_up: the next class; None if there is none.
        scores: similarity, margin to the next class, and explained share.
        transform: (3, 3) from the exemplar's frame, -1 to 1, to pixels of the image.
    """

    row: int
    label: int
    runner_up: int | None
    scores: Scores
    transform: FloatArray
    total: float  # similarity and explained share together


class View:
    """A image (H, W, 4) as it is compared: smoothed, its object cut out, described."""

    def __init__(self, rgba: Pixels, features: Features) -> None:
        self.features = features
        self.image = smoothed(np.ascontiguousarray(rgba[..., :3]))
        self.found: CutOut = cut_out(np.dstack([self.image, rgba[..., 3]]))

    @cached_property
    def pyramid(self) -> Pyramid:
        """Reductions for alignment."""
        return Pyramid(self.image)

    @cached_property
    def whole_object(self) -> tuple[Descriptors, FloatArray]:
        """The descriptor (1, n_features) of the object, and its box (1, 4)."""
        mask = None
        if self.found.background != "none":
            left, top, right, bottom = self.found.box
            mask = np.zeros(self.image.shape[:2], np.uint8)
            mask[top:bottom, left:right] = self.found.pixels[..., 3]
        view: Images = crop(self.image, mask, self.found.box, self.features.size)
        return self.features.describe(view[None]), np.array([self.found.box], np.float64)

    @cached_property
    def windows(self) -> tuple[Descriptors, FloatArray] | None:
        """Descriptors and boxes of windows; None if the background is plain or the features have none."""
        if self.found.background != "none" or not isinstance(self.features, PretrainedFeatures):
            return None
        height, width = self.image.shape[:2]
        resized = Image.fromarray(self.image).resize((WINDOW_SIZE, WINDOW_SIZE), Image.Resampling.BILINEAR)
        descriptors, boxes = self.features.describe_windows(np.array(resized), WINDOW_SIDES)
        return descriptors, boxes * np.array([width, height, width, height], np.float64)


def match(view: View, gallery: Gallery, without: int | None = None) -> Match | None:
    """The best class of an image, in a gallery `without` one class; None if no class is left."""
    allowed = np.ones(len(gallery.labels), bool) if without is None else gallery.labels != without
    if not allowed.any():
        return None
    best = _match(view, *view.whole_object, gallery, allowed, anywhere=False)
    if best.scores[2] < VERIFIED and view.windows is not None:
        other = _match(view, *view.windows, gallery, allowed, anywhere=True)
        best = max(best, other, key=lambda each: each.total)
    return best


def _match(
    view: View,
    descriptors: Descriptors,
    boxes: FloatArray,
    gallery: Gallery,
    allowed: npt.NDArray[np.bool_],
    *,
    anywhere: bool,
) -> Match:
    """The best class after the most similar exemplars have been located and aligned."""
    pyramid, weight = view.pyramid, view.features.alignment_weight
    similarities = gallery.similarities(descriptors)
    by_row = np.where(allowed, similarities.max(axis=(0, 2)), -2.0)
    rows = _best_of_classes(by_row, gallery.labels)
    is_clear = len(rows) > 1 and by_row[rows[0]] - by_row[rows[1]] > CLEAR_MARGIN
    located = []
    for row in rows[: 1 if is_clear else N_LOCATED].tolist():
        box, number = np.unravel_index(similarities[:, row].argmax(), similarities[:, row].shape)
        start = gallery.exemplar(row).start(gallery.view(row, int(number)), tuple(boxes[box]))
        correlation, transform = gallery.exemplar(row).locate(pyramid, start, anywhere=anywhere)
        located.append((by_row[row] + weight * correlation, row, transform))
    located.sort(key=lambda each: -each[0])
    aligned = []
    for _, row, start in located[:N_ALIGNED]:
        explained, transform = gallery.exemplar(row).align(pyramid, start)
        aligned.append((by_row[row] + weight * explained, row, explained, transform))
    aligned.sort(key=lambda each: -each[0])
    total, row, explained, transform = aligned[0]
    next_total, next_row = max(_next(rows[rows != row], aligned[1:], by_row), default=(0.0, None))
    return Match(
        row=row,
        label=int(gallery.labels[row]),
        runner_up=None if next_row is None else int(gallery.labels[next_row]),
        scores=(float(by_row[row]), float(total - next_total), float(explained)),
        transform=transform,
        total=float(total),
    )


def _next(
    rows: IntArray, aligned: list[tuple[float, int, float, FloatArray]], by_row: FloatArray
) -> Iterator[tuple[float, int]]:
    """The totals of other classes: those that were aligned, and the most similar one of the rest."""
    done = {row for _, row, _, _ in aligned}
    yield from ((float(total), row) for total, row, _, _ in aligned)
    yield from ((float(by_row[row]), row) for row in rows.tolist() if row not in done)


def _best_of_classes(by_row: FloatArray, labels: IntArray) -> IntArray:
    """The best row of each class, best first; rows of -2 are left out."""
    order = np.argsort(-by_row, kind="stable")
    order = order[by_row[order] > -2.0]
    _, first = np.unique(labels[order], return_index=True)
    return order[np.sort(first)]
