"""Data that a memory stores with each exemplar: descriptors, masks, templates.

If a class keeps only some of its images, each row also has the number of all images that the class was taught
with, and the mean of their descriptors.
"""

from typing import Any

import numpy as np

from everlearn.memory.table import AnyArray
from everlearn.recognition.calibration import N_SCORES
from everlearn.recognition.calibration_scores import N_DISTURBED
from everlearn.recognition.features import GRID, WHOLE_SIZE, Features
from everlearn.recognition.templates import LENGTH, template_angles, templates_of
from everlearn.recognition.views import angles, render, render_textured, render_whole, whole_angles
from everlearn.rng import rng_at
from everlearn.streams.images.decode import Pixels

Columns = dict[str, tuple[Any, tuple[int, ...]]]


def column_types(features: Features, *, upright: bool) -> Columns:
    """The type and the shape of each column."""
    n_views, n_whole = len(angles(upright=upright)), len(whole_angles(upright=upright))
    whole: Columns = {"whole": (np.float16, (n_whole, sum(features.whole_widths)))}
    return (whole if features.whole_widths else {}) | {
        "descriptors": (np.float16, (n_views, sum(features.widths))),
        "masks": (np.uint8, (n_views, GRID, GRID)),
        "textured": (np.float16, (sum(features.widths),)),
        "templates": (np.int8, (len(template_angles(upright=upright)), LENGTH)),
        "calibration": (np.float32, (N_DISTURBED, 2, N_SCORES)),
        "image": (np.int64, ()),
        "taught": (np.int64, ()),
        "mean": (np.float32, (sum(features.widths),)),
    }


def columns_of(pixels: Pixels, number: int, features: Features, *, upright: bool) -> dict[str, AnyArray]:
    """The columns of the exemplars (n, size, size, 4) of one image.

    Args:
        pixels: of the exemplars.
        number: of the image, which is the seed of random views.
        features: that describe images.
        upright: whether things are always seen upright.
    """
    turned = angles(upright=upright)
    views = [render(each, angle, features.size) for each in pixels for angle in turned]
    images, masks = np.stack([each[0] for each in views]), np.stack([each[1] for each in views])
    shape, rng = (len(pixels), len(turned)), rng_at(0, "textured exemplar", number)
    textured = np.stack([render_textured(each, features.size, rng) for each in pixels])
    whole = {"whole": _whole(pixels, features, upright=upright)} if features.whole_widths else {}
    described = features.describe(images, masks).reshape(*shape, -1)
    return whole | {
        "descriptors": described.astype(np.float16),
        "masks": np.rint(masks * 255).astype(np.uint8).reshape(*shape, GRID, GRID),
        "textured": features.describe(textured, masks[:: shape[1]]).astype(np.float16),
        "templates": np.stack([templates_of(each, template_angles(upright=upright)) for each in pixels]),
        "calibration": np.zeros((len(pixels), N_DISTURBED, 2, N_SCORES), np.float32),
        "image": np.full(len(pixels), number),
        "taught": np.zeros(len(pixels), np.int64),
        "mean": np.zeros((len(pixels), described.shape[-1]), np.float32),
    }


def _whole(pixels: Pixels, features: Features, *, upright: bool) -> AnyArray:
    turned = whole_angles(upright=upright)
    images = [render_whole(each, angle, WHOLE_SIZE) for each in pixels for angle in turned]
    found = features.describe_whole(np.stack(images)).reshape(len(pixels), len(turned), -1)
    return found.astype(np.float16)
