"""Query set of sprites: one exemplar each, asked in random poses under nuisances of growing strength."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.photos.archives import Pixels
from benchmarks.photos.queries import Queries, Trial
from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.rng import Rng, rng_at
from everlearn.shapes import ShapeFamily

N_SPRITES, SIZE = 100, 64
SEEDS = (0, 1, 2)
SCALES = (0.5, 1.0)
STRENGTHS: dict[str, tuple[float, ...]] = {
    "occluder": (0.05, 0.1, 0.2),
    "clutter": (4, 8, 16),
    "lighting": (0.3, 0.6, 0.9),
    "noise": (0.05, 0.1, 0.2),
    "texture": (0.1, 0.2, 0.4),
    "perspective": (0.1, 0.2, 0.4),
    "bending": (0.05, 0.1, 0.2),
}
"""The curve of each nuisance; `perspective` and `bending` warp the finished image."""
WARPED = ("perspective", "bending")


def trials() -> Iterator[Trial]:
    """The canonical image of each sprite is taught."""
    for seed in SEEDS:
        names = [f"sprite {i}" for i in range(N_SPRITES)]
        taught = list(_render(seed, Factors.canonical(N_SPRITES), Nuisances()))
        asked = {"clean": Queries(asked_images(seed, "clean", 0.0), names)}
        for nuisance, strengths in STRENGTHS.items():
            for strength in strengths:
                images = asked_images(seed, nuisance, strength)
                asked[f"{nuisance} {strength:g}"] = Queries(images, names)
        yield Trial("1 exemplar", seed, taught, names, asked)


def asked_images(seed: int, nuisance: str, strength: float) -> list[Pixels]:
    """Each sprite in a random pose under one nuisance; poses are the same for all of them."""
    rng = rng_at(seed, "photos: sprites")
    scale, angle, x, y = (rng.uniform(N_SPRITES) for _ in range(4))
    low, high = SCALES
    factors = Factors(low + (high - low) * scale, 2 * np.pi * angle, x, y)
    value: Any = int(strength) if nuisance == "clutter" else strength
    plain = nuisance in (*WARPED, "clean")
    images = _render(seed, factors, Nuisances() if plain else Nuisances(**{nuisance: value}))
    if nuisance not in WARPED:
        return list(images)
    return [
        warped(image, nuisance, strength, rng_at(seed, "photos: warp", i)) for i, image in enumerate(images)
    ]


def _render(seed: int, factors: Factors, nuisances: Nuisances) -> Pixels:
    outlines = ShapeFamily(seed=seed).outlines(np.arange(N_SPRITES))
    gray = render(outlines, factors, SIZE, nuisances=nuisances, seed=seed)
    return np.repeat(gray[..., None], 3, axis=3)


def warped(image: Pixels, kind: str, strength: float, rng: Rng) -> Pixels:
    """The image under a perspective map, or bent.

    Perspective: a quadrilateral whose corners are up to strength / 2 of the side outside becomes the image.
    Bending: rows or columns are shifted by a sine with the amplitude `strength` of the side.
    """
    side = len(image)
    if kind == "perspective":
        outside = rng.uniform(8).reshape(4, 2) * strength / 2 * side
        directions = np.array([(-1, -1), (-1, 1), (1, 1), (1, -1)])
        quad = np.array([(0, 0), (0, side), (side, side), (side, 0)]) + outside * directions
        return np.asarray(
            Image.fromarray(image).transform(
                (side, side), Image.Transform.QUAD, quad.ravel().tolist(), Image.Resampling.BILINEAR,
                fillcolor=tuple(image[0, 0].tolist()),
            )
        )  # fmt: skip
    phase, turn = rng.uniform(2)
    bent = image if turn < 0.5 else image.swapaxes(0, 1)
    shifts = strength * side * np.sin(2 * np.pi * (np.arange(side) / side + phase))
    columns = np.arange(side)
    rows = [
        np.stack([np.interp(columns - shift, columns, row[:, c]) for c in range(3)], axis=1)
        for row, shift in zip(bent, shifts, strict=True)
    ]
    result = np.rint(np.stack(rows)).astype(np.uint8)
    return result if turn < 0.5 else result.swapaxes(0, 1)
