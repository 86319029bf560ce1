"""Rendering error in gray levels against 16 x 16 supersampling."""

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import peer
from benchmarks.reference import FloatArray, image
from benchmarks.table import Row
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.rng import rng_at
from everlearn.shapes import Outlines, ShapeFamily

LEVELS = (169.0, 255.0, 0.0)
N = {64: 100, 128: 30, 256: 10}


def run() -> list[Row]:
    """Errors of ours and of the peer, on the same outlines and factors."""
    return [row for size in N for row in _errors(size)]


def _errors(size: int) -> list[Row]:
    scale, angle, x, y = rng_at(1, "bench").uniform(4 * N[size]).reshape(4, N[size])
    factors = Factors(scale=0.5 + 0.5 * scale, angle=2 * np.pi * angle, x=x, y=y)
    outlines = ShapeFamily(seed=1).outlines(np.arange(N[size]))
    wanted = np.stack([image(outlines[i], factors[i], size, LEVELS) for i in range(N[size])])
    boundary = ~np.isin(wanted, LEVELS)
    ours = np.abs(render(outlines, factors, size) - wanted)
    theirs = np.abs(_peer_images(outlines, factors, size) - wanted)
    return [
        Row(f"ours {size} px, all pixels", float(ours.mean()), "levels", goal=0.1, at_most=True),
        Row(
            f"ours {size} px, boundary pixels", float(ours[boundary].mean()), "levels", goal=1.0, at_most=True
        ),
        Row(f"ours {size} px, worst pixel", float(ours.max()), "levels"),
        Row(f"peer {size} px, all pixels", float(theirs.mean()), "levels"),
        Row(f"peer {size} px, boundary pixels", float(theirs[boundary].mean()), "levels"),
    ]


def _peer_images(outlines: Outlines, factors: Factors, size: int) -> FloatArray:
    data = peer.dataset(size, 1)
    return np.stack([data.draw(_pose(outlines[i], factors[i]))[0] * 255.0 for i in range(len(factors))])


def _pose(outline: Outlines, factors: Factors) -> Any:
    from idsprites.infinite_dsprites import Factors as PeerFactors

    white: npt.NDArray[np.float64] = np.ones(3)
    shape = outline.points(1000)[0].T
    scale, angle, x, y = factors.array()[0]
    return PeerFactors(shape, white, 0, scale, angle, x, y)
