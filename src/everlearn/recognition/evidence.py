"""Evidence that an image shows the exemplar that was aligned with it, and not only something like it.

Exemplars are ranked before, by what is cheap. Then the image is brought into the frame of the best one and
described again, and the outlines of object and exemplar are compared.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.recognition.features import Features
from everlearn.recognition.gallery import Gallery
from everlearn.recognition.views import render, to_frame
from everlearn.rng import FloatArray
from everlearn.streams.images.canonical import CutOut
from everlearn.streams.images.decode import Pixels
from everlearn.streams.stream import Images

Mask = npt.NDArray[np.bool_]

MIN_SEEN = 0.1
"""Share of an exemplar that must be seen to describe it again."""
OPAQUE = 127


class Query(Protocol):
    """What is needed of an image: it is a `matching.View`."""

    image: Images
    hidden: Mask | None
    found: CutOut
    features: Features

    @property
    def is_cut_out(self) -> bool:
        """Whether the object was found in front of a background."""


def aligned_similarity(view: Query, gallery: Gallery, row: int, transform: FloatArray) -> float:
    """The similarity of an image and an exemplar in the frame of the exemplar, in which poses are equal.

    What an occluder hides is left out of both.
    """
    exemplar, size = gallery.exemplar(row).pixels, view.features.size
    warped = _warped(view.image, transform, len(exemplar))
    if view.hidden is None:
        pixels, cells = render(np.dstack([warped, exemplar[..., 3]]), 0.0, size)
        described = view.features.describe(pixels[None], cells[None])
        return gallery.similarity.with_first_view(described[0], row)
    hidden = _warped(view.hidden.astype(np.uint8) * 255, transform, len(exemplar)) > OPAQUE
    alpha = np.where(hidden, 0, exemplar[..., 3]).astype(np.uint8)
    if (alpha > OPAQUE).sum() < max(1.0, MIN_SEEN * (exemplar[..., 3] > OPAQUE).sum()):
        return 0.0
    views = [render(np.dstack([each, alpha]), 0.0, size) for each in (warped, exemplar[..., :3])]
    described = view.features.describe(np.stack([v[0] for v in views]), np.stack([v[1] for v in views]))
    return gallery.similarity.between(described[0], described[1])


def outline_overlap(view: Query, gallery: Gallery, row: int, transform: FloatArray) -> float:
    """The area that the masks of object and exemplar share, relative to what either covers; 0 in a scene.

    What an occluder hides does not count.
    """
    if not view.is_cut_out or abs(np.linalg.det(transform)) < 1e-9:
        return 0.0
    exemplar = gallery.exemplar(row).pixels
    height, width = view.image.shape[:2]
    back = np.asarray(np.linalg.inv(to_frame(transform, len(exemplar))), np.float64)
    drawn = _transformed(exemplar[..., 3], back, (width, height)) > OPAQUE
    left, top, right, bottom = view.found.box
    seen = np.zeros((height, width), bool)
    seen[top:bottom, left:right] = view.found.pixels[..., 3] > OPAQUE
    visible = np.ones_like(seen) if view.hidden is None else ~view.hidden
    either = ((drawn | seen) & visible).sum()
    return float((drawn & seen & visible).sum() / max(1, either))


def _warped(image: Pixels, transform: FloatArray, side: int) -> Pixels:
    """An image (H, W[, 3]) in the frame of an exemplar (side, side)."""
    return _transformed(image, to_frame(transform, side), (side, side))


def _transformed(image: Pixels, matrix: FloatArray, size: tuple[int, int]) -> Pixels:
    coefficients = tuple((matrix / matrix[2, 2]).ravel()[:8])
    moved = Image.fromarray(image).transform(
        size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
    )
    return np.asarray(moved)
