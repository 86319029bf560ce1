"""Verification that an image shows the exemplar aligned with it, and not only a similar object.

Cheaper scores have ranked the exemplars before. The image is warped into the frame of the best exemplar and
described again, and the outlines of object and exemplar are compared.
"""

from typing import TYPE_CHECKING

import numpy as np

from everlearn.recognition.gallery import Gallery
from everlearn.recognition.views import perspective, render, to_frame, unwarp, warp
from everlearn.rng import FloatArray

if TYPE_CHECKING:
    from everlearn.recognition.matching import View

MIN_VISIBLE = 0.1
"""Share of an exemplar that must be visible to describe it again."""
OPAQUE = 127


def aligned_similarity(view: "View", gallery: Gallery, row: int, transform: FloatArray) -> float:
    """The similarity of an image and an exemplar in the frame of the exemplar, where their poses are equal.

    Parts that are hidden by an occluder are masked in both.
    """
    exemplar, size = gallery.exemplar(row).pixels, view.features.size
    if view.hidden is None:
        pixels, cells = unwarp(view.image, transform, exemplar, size)
        described = view.features.describe(pixels[None], cells[None])
        return gallery.similarity.with_first_view(described[0], row)
    warped = warp(view.image, transform, len(exemplar))
    hidden = warp(view.hidden.astype(np.uint8) * 255, transform, len(exemplar)) > OPAQUE
    alpha = np.where(hidden, 0, exemplar[..., 3]).astype(np.uint8)
    if (alpha > OPAQUE).sum() < max(1.0, MIN_VISIBLE * (exemplar[..., 3] > OPAQUE).sum()):
        return 0.0
    views = [render(np.dstack([each, alpha]), 0.0, size) for each in (warped, exemplar[..., :3])]
    described = view.features.describe(np.stack([v[0] for v in views]), np.stack([v[1] for v in views]))
    return gallery.similarity.between(described[0], described[1])


def outline_overlap(view: "View", gallery: Gallery, row: int, transform: FloatArray) -> float:
    """Intersection over union of the masks of object and exemplar; 0 if the object was not cut out.

    Parts that are hidden by an occluder are ignored.
    """
    if not view.is_cut_out or abs(np.linalg.det(transform)) < 1e-9:
        return 0.0
    exemplar = gallery.exemplar(row).pixels
    height, width = view.image.shape[:2]
    back = np.asarray(np.linalg.inv(to_frame(transform, len(exemplar))), np.float64)
    drawn = perspective(exemplar[..., 3], back, (width, height)) > OPAQUE
    left, top, right, bottom = view.found.box
    seen = np.zeros((height, width), bool)
    seen[top:bottom, left:right] = view.found.pixels[..., 3] > OPAQUE
    visible = np.ones_like(seen) if view.hidden is None else ~view.hidden
    either = ((drawn | seen) & visible).sum()
    return float((drawn & seen & visible).sum() / max(1, either))
