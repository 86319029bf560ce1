"""Calibration data of the confidence: exemplars matched with and without their own class."""

import numpy as np

from everlearn.recognition.calibration import N_SCORES
from everlearn.recognition.features import Features
from everlearn.recognition.gallery import Gallery
from everlearn.recognition.matching import View, match
from everlearn.recognition.views import CANVAS, disturb, render_whole
from everlearn.rng import FloatArray, IntArray, rng_at

N_DISTURBED = 2
"""Calibration images per exemplar."""
N_REFRESHED = 1
"""Older exemplars whose scores are updated when an image is taught."""
SPARSE_FROM, SPARSE_STEP = 100, 10
"""After this number of images, only every tenth image adds calibration scores."""
N_AFTER_MANY = 16
"""Exemplars whose scores are updated when a class has been erased, or many images taught."""


def rows_after_teaching(images: IntArray, number: int) -> IntArray:
    """The rows to update when an image has been taught: its own first one, and some older ones.

    Args:
        images: the number of the image of each exemplar.
        number: of the new image.
    """
    if number >= SPARSE_FROM and number % SPARSE_STEP:
        return np.zeros(0, np.int64)
    older = np.flatnonzero(images != number)
    some = rng_at(0, "calibrated exemplars", number).permutation(len(older))[:N_REFRESHED]
    return np.unique(np.concatenate([np.flatnonzero(images == number)[:1], older[some]]))


def rows_after_many(n: int) -> IntArray:
    """Evenly spaced rows of n to update when a class has been erased, or many images taught."""
    return np.unique(np.linspace(0, n - 1, min(n, N_AFTER_MANY)).astype(np.int64))


def disturbed_scores(
    gallery: Gallery, features: Features, row: int, number: int, *, upright: bool
) -> FloatArray:
    """The scores (N_DISTURBED, 2, N_SCORES) of images of an exemplar, matched with its class and without.

    The images are disturbed copies. If the class has other images, the last one is the exemplar itself,
    matched without its own rows, since two images of an object differ more than an image and a copy.

    Args:
        gallery: all exemplars.
        features: that describe images.
        row: of the exemplar.
        number: of its image, which is the seed of the copies.
        upright: whether things are always seen upright.
    """
    scores, label = np.zeros((N_DISTURBED, 2, N_SCORES)), int(gallery.labels[row])
    is_other, is_own = gallery.labels != label, gallery.similarity.images == number
    has_others = bool((~is_other & ~is_own).any())
    for i in range(N_DISTURBED):
        exemplar, is_left_out = gallery.exemplar(row).pixels, has_others and i == N_DISTURBED - 1
        rng = rng_at(0, "disturbed exemplar", number, i)
        image = (
            render_whole(exemplar, 0.0, CANVAS) if is_left_out else disturb(exemplar, rng, upright=upright)
        )
        view = View(np.dstack([image, np.full(image.shape[:2], 255, np.uint8)]), features)
        found, other = match(view, gallery, ~is_own if is_left_out else None), match(view, gallery, is_other)
        if found is not None and found.label == label:
            scores[i, 0] = found.scores
        if other is not None:
            scores[i, 1] = other.scores
    return scores
