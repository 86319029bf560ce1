"""Outlines and factors in, images out."""

import os
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rendering.nuisances import Nuisances, Scene
from everlearn.rendering.paths import Paths, flatten
from everlearn.rendering.rasterizer import DRAWN_SIZE, Placements, paint_gray, paint_pixels, paint_planes
from everlearn.rng import IntArray, check_seed
from everlearn.shapes import Outlines

Float64Array = npt.NDArray[np.float64]

SMALLEST_PX, LARGEST_PX = 16, 512
LARGEST_SCALE = 16.0
FARTHEST_PLACE = 16.0
# Rec. 601: how bright red, green and blue look.
LUMINANCE = (0.299, 0.587, 0.114)


def check_image_size(image_size: int) -> int:
    """The size as an int, or a complaint."""
    if isinstance(image_size, bool) or not isinstance(image_size, int | np.integer):
        raise BadInput(f"image_size is {image_size!r}; it must be a whole number of pixels")
    if not SMALLEST_PX <= image_size <= LARGEST_PX:
        raise BadInput(f"image_size is {image_size}; it must be between {SMALLEST_PX} and {LARGEST_PX}")
    return int(image_size)


def check_factors(factors: Factors) -> None:
    """Complain about factors so extreme that single-precision coordinates would go wrong."""
    if len(factors) == 0:
        return
    if factors.scale.max() > LARGEST_SCALE:
        raise BadInput(f"scale is {factors.scale.max()}; the renderer draws scales up to {LARGEST_SCALE:g}")
    for name in ("x", "y"):
        place = getattr(factors, name)
        if np.abs(place).max() > FARTHEST_PLACE:
            raise BadInput(
                f"{name} is {place[np.abs(place).argmax()]}; the renderer draws places from "
                f"-{FARTHEST_PLACE:g} to {FARTHEST_PLACE:g}, of which 0 to 1 lie in the image"
            )


def pair_up(n_outlines: int, factors: Factors, which: npt.ArrayLike | None) -> tuple[IntArray, Factors]:
    """One outline number and one row of factors per image; a single one of either is repeated."""
    numbers = np.arange(n_outlines) if which is None else _outline_numbers(which, n_outlines)
    lengths = (len(numbers), len(factors))
    n = 0 if 0 in lengths else max(lengths)
    if any(length not in (1, n) for length in lengths):
        what = "outlines" if which is None else "entries of which"
        raise BadInput(
            f"there are {lengths[0]} {what} and {lengths[1]} rows of factors; give equal numbers, or one of "
            "either, or say by `which` what outline each row shows"
        )
    if len(factors) != n:
        factors = factors[np.zeros(n, np.int64)]
    return np.ascontiguousarray(np.broadcast_to(numbers, n), dtype=np.int64), factors


def _outline_numbers(which: npt.ArrayLike, n_outlines: int) -> npt.NDArray[Any]:
    numbers = np.atleast_1d(np.asarray(which))
    if numbers.size == 0:
        return np.empty(0, np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise BadInput("which must be a flat list of whole numbers, one outline number per row of factors")
    if numbers.min() < 0 or numbers.max() >= n_outlines:
        raise BadInput(
            f"which runs from {numbers.min()} to {numbers.max()}; with {n_outlines} outlines it must stay "
            f"within 0 to {n_outlines - 1}"
        )
    return numbers


def row_ids(rows: npt.ArrayLike | None, n: int) -> IntArray:
    """The address of each image's own randomness: its number in the batch if nothing is said."""
    if rows is None:
        return np.arange(n)
    ids = np.atleast_1d(np.asarray(rows))
    if ids.shape != (n,) or (n > 0 and ids.dtype.kind not in "iu"):
        raise BadInput(f"rows has shape {ids.shape}; it must hold one whole number for each of {n} images")
    return ids.astype(np.int64)


def colour(name: str, value: npt.ArrayLike) -> Float64Array:
    """A gray level or a colour as (1, 3) or (n, 3) numbers in 0..1."""
    given = np.asarray(value, dtype=np.float64)
    if given.ndim == 0:
        given = np.repeat(given, 3)
    if given.ndim > 2 or given.shape[-1] != 3:
        raise BadInput(f"{name} has shape {given.shape}; give one level, or red, green and blue")
    if not ((given >= 0) & (given <= 1)).all():
        raise BadInput(f"{name} is {value!r}; its levels must be from 0 to 1")
    return given.reshape(-1, 3)


def mixed_levels(
    n: int, background: Float64Array, shape: Float64Array, marker: bool, rgb: bool
) -> npt.NDArray[np.float32]:
    """(n, channels, 3) levels of background, shape and marked half, from 0 to 1."""
    levels = np.zeros((n, 3 if rgb else 1, 3), np.float32)
    levels[:, :, 0] = background if rgb else _luminance(background)
    levels[:, :, 1] = shape if rgb else _luminance(shape)
    if not marker:
        levels[:, :, 2] = levels[:, :, 1]
    return levels


def _luminance(colours: Float64Array) -> Float64Array:
    red, green, blue = LUMINANCE
    return red * colours[:, :1] + green * colours[:, 1:2] + blue * colours[:, 2:]


def image_shape(n: int, size: int, rgb: bool, channels_first: bool) -> tuple[int, ...]:
    """The shape of the answer."""
    if not rgb:
        return (n, size, size)
    return (n, 3, size, size) if channels_first else (n, size, size, 3)


def check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """uint8 or float32, or a complaint."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise BadInput(f"dtype is {dtype!r}; it must be uint8 or float32") from None
    if kind not in (np.dtype(np.uint8), np.dtype(np.float32)):
        raise BadInput(f"dtype is {kind}; it must be uint8 (0 to 255) or float32 (0 to 1)")
    return kind


def room_for(shape: tuple[int, ...], dtype: np.dtype[Any], out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """An array for the images: `out` if it was given and can take them as they are, else a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        given = f"{out.dtype}{out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise BadInput(f"out is {given}; the images are {dtype}{shape}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise BadInput("out cannot be written in one stretch; give a writeable array in C order, not a view")
    return out


Work = Callable[[int, int], None]


def usable_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """The number of threads wanted: all usable processors if nothing is said."""
    if threads is None:
        return usable_cpus()
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise BadInput(f"threads is {threads!r}; it must be a whole number from 1 up")
    return int(threads)


def in_pieces(work: Work, n: int, piece: int, threads: int) -> None:
    """Call work(begin, end) for consecutive pieces of 0..n, several at a time.

    The caller takes pieces too, so that nothing waits while helpers wake up. Helpers live only as long as
    the call: nothing is left behind that a forked process would miss.
    """
    begins = iter(range(0, n, piece))
    failures: list[BaseException] = []

    def take() -> None:
        try:
            for begin in begins:
                work(begin, min(begin + piece, n))
        except BaseException as error:  # said again in the thread of the caller
            failures.append(error)

    helpers = [Thread(target=take) for _ in range(min(threads, -(-n // piece)) - 1)]
    for helper in helpers:
        helper.start()
    take()
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]


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

    At scale 1 a shape's bounding box is 0.45 of the image wide and high; place p in 0..1 puts its
    centroid at 0.25 + 0.5 p of the image. An image depends only on its own outline, factors and row
    number: not on the batch it is drawn in, the number of threads or the processor.

    Args:
        outlines: the shapes.
        factors: where, how large, how turned and in which colour; one row per image.
        image_size: height and width in pixels, 16 to 512.
        which: for each row of factors the number of its outline. Without it outlines and rows pair up, and
            a single one of either is repeated.
        rgb: colour images; gray ones show the luminance of the colour.
        marker: paint the half with x > 0 black, so that the orientation can be seen.
        background: level or colour behind the shape, 0 to 1.
        foreground: level or colour of the shape, instead of the factors' own.
        nuisances: what makes the images harder to read.
        seed: the seed of the nuisances.
        rows: the address of each image's own nuisances; its number in the batch if not said.
        threads: how many threads to use; all usable processors if not said.
        dtype: uint8 (0 to 255) or float32 (0 to 1).
        channels_first: colour images as (n, 3, H, W) instead of (n, H, W, 3).
        out: an array to draw into, which saves the time of getting fresh memory.

    Returns:
        (n, H, W) or, with rgb, (n, H, W, 3).

    Example:
        >>> from everlearn.shapes import ShapeFamily
        >>> shapes = ShapeFamily(seed=0).outlines([0, 1, 2])
        >>> images = render(shapes, Factors(angle=0.3), image_size=32)
        >>> images.shape, int(images[0, 0, 0])
        ((3, 32, 32), 169)
    """
    size, kind = check_image_size(image_size), check_dtype(dtype)
    which, factors = pair_up(len(outlines), factors, which)
    check_factors(factors)
    n = len(factors)
    ids, seed, threads = row_ids(rows, n), check_seed(seed), check_threads(threads)
    behind = colour("background", background)
    shape = factors.colour if foreground is None else colour("foreground", foreground)
    out = room_for(image_shape(n, size, rgb, channels_first), kind, out)
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
    """The paths needed and the number of each image's path.

    How finely an outline is cut depends on the image's own scale, rounded up to a power of two, and never
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
