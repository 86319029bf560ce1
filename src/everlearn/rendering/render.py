"""Outlines and factors in, pictures out."""

from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.chance import IntArray, check_seed
from everlearn.factors import Factors
from everlearn.rendering.nuisances import Nuisances
from everlearn.rendering.paint import paint_gray, paint_pixels, paint_planes
from everlearn.rendering.paths import Paths, flatten
from everlearn.rendering.raster import DRAWN_SIZE, Placements
from everlearn.rendering.request import (
    check_dtype,
    check_factors,
    check_image_size,
    colour,
    mixed_levels,
    pair_up,
    picture_shape,
    room_for,
    row_ids,
)
from everlearn.rendering.scene import Scene
from everlearn.rendering.threads import check_threads, in_pieces
from everlearn.shapes import Outlines

BACKGROUND = 169 / 255
PIECE = 128
PIECES_PER_THREAD = 16


def render(
    outlines: Outlines,
    factors: Factors,
    image_size: int = 64,
    *,
    which: npt.ArrayLike | None = None,
    rgb: bool = False,
    marker: bool = True,
    background: npt.ArrayLike = BACKGROUND,
    foreground: npt.ArrayLike | None = None,
    nuisances: Nuisances | None = None,
    seed: int = 0,
    rows: npt.ArrayLike | None = None,
    threads: int | None = None,
    dtype: npt.DTypeLike = np.uint8,
    channels_first: bool = False,
    out: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Draw outlines under factors: every pixel gets the exact share of it that the shape covers.

    At scale 1 a shape's bounding box is 0.45 of the picture wide and high; place p in 0..1 puts its
    centroid at 0.25 + 0.5 p of the picture. A picture depends only on its own outline, factors and row
    number: not on the batch it is drawn in, the number of threads or the processor.

    Args:
        outlines: the shapes.
        factors: where, how large, how turned and in which colour; one row per picture.
        image_size: height and width in pixels, 16 to 512.
        which: for each row of factors the number of its outline. Without it outlines and rows pair up, and
            a single one of either is repeated.
        rgb: colour pictures; gray ones show the luminance of the colour.
        marker: paint the half with x > 0 black, so that the orientation can be seen.
        background: level or colour behind the shape, 0 to 1.
        foreground: level or colour of the shape, instead of the factors' own.
        nuisances: what makes the pictures harder to read.
        seed: the seed of the nuisances.
        rows: the address of each picture's own nuisances; its number in the batch if not said.
        threads: how many threads to use; all usable processors if not said.
        dtype: uint8 (0 to 255) or float32 (0 to 1).
        channels_first: colour pictures as (n, 3, H, W) instead of (n, H, W, 3).
        out: an array to draw into, which saves the time of getting fresh memory.

    Returns:
        (n, H, W) or, with rgb, (n, H, W, 3).

    Example:
        >>> from everlearn.shapes import ShapeFamily
        >>> shapes = ShapeFamily(seed=0).outlines([0, 1, 2])
        >>> pictures = render(shapes, Factors(angle=0.3), image_size=32)
        >>> pictures.shape, int(pictures[0, 0, 0])
        ((3, 32, 32), 169)
    """
    size, kind = check_image_size(image_size), check_dtype(dtype)
    which, factors = pair_up(len(outlines), factors, which)
    check_factors(factors)
    n = len(factors)
    ids, seed, threads = row_ids(rows, n), check_seed(seed), check_threads(threads)
    behind = colour("background", background)
    shape = factors.colour if foreground is None else colour("foreground", foreground)
    out = room_for(picture_shape(n, size, rgb, channels_first), kind, out)
    paths, path = _paths(outlines, which, factors.scale, size)
    where = Placements(path, factors.scale, factors.angle, factors.x, factors.y)
    levels = mixed_levels(n, behind, shape, marker, rgb)
    if nuisances is None or nuisances.are_none:
        _paint(paths, where, size, levels, channels_first, threads, out)
    else:
        scene = Scene(nuisances, seed, size, paths, where, levels)
        in_pieces(lambda begin, end: scene.draw(begin, end, ids, channels_first, out), n, PIECE, threads)
    return out


def _paint(
    paths: Paths,
    where: Placements,
    size: int,
    levels: npt.NDArray[np.float32],
    channels_first: bool,
    threads: int,
    out: npt.NDArray[Any],
) -> None:
    colour_paint = paint_planes if channels_first else paint_pixels
    paint = paint_gray if levels.shape[1] == 1 else colour_paint
    scaled = levels * np.float32(255) if out.dtype == np.uint8 else levels
    flat = out.reshape(-1)
    # Few enough pieces that starting one costs nothing, enough that no thread waits long for the last.
    piece = max(PIECE, -(-len(out) // (PIECES_PER_THREAD * threads)))
    in_pieces(
        lambda begin, end: paint(begin, end, paths, where, size, scaled, flat), len(out), piece, threads
    )


def _paths(
    outlines: Outlines, which: IntArray, scale: npt.NDArray[np.float64], size: int
) -> tuple[Paths, IntArray]:
    """The paths needed and the number of each picture's path.

    How finely an outline is cut depends on the picture's own scale, rounded up to a power of two, and never
    on what else is in the batch.
    """
    if len(outlines) > len(which):
        used, which = np.unique(which, return_inverse=True)
        outlines = outlines[used]
    if not (scale > 1).any():
        return flatten(outlines.cubics, outlines.n_vertices, np.full(len(outlines), DRAWN_SIZE * size)), which
    fraction, exponent = np.frexp(scale)
    detail = np.maximum(exponent - (fraction == 0.5), 0)
    details = np.flatnonzero(np.bincount(detail))
    copies = outlines if len(details) == 1 else outlines[np.tile(np.arange(len(outlines)), len(details))]
    unit_px = np.repeat(DRAWN_SIZE * size * 2.0**details, len(outlines))
    path = np.searchsorted(details, detail) * len(outlines) + which
    return flatten(copies.cubics, copies.n_vertices, unit_px), path
