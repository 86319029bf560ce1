"""The public function `render` and the checks of its arguments."""

import os
from collections.abc import Callable
from functools import lru_cache
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range, is_integer
from everlearn.factors import Factors
from everlearn.factors.factors import as_floats
from everlearn.rendering.nuisances import NuisanceRenderer, Nuisances
from everlearn.rendering.paths import Paths, flatten, flatten_all
from everlearn.rendering.rasterizer import (
    SHAPE_SIZE,
    Placements,
    draw_gray,
    draw_gray_into,
    draw_rgb,
    draw_rgb_into,
)
from everlearn.rng import FloatArray, IntArray, check_seed
from everlearn.shapes import Outlines
from everlearn.shapes.jit import is_compiled

MIN_SIZE_PX, MAX_SIZE_PX = 16, 512
MAX_FACTOR = 16
"""Largest scale and position, where positions 0 to 1 are in the image."""
LUMINANCE = (0.299, 0.587, 0.114)  # Rec. 601
BACKGROUND = 169 / 255
BATCH_SIZE = 128
BATCHES_PER_THREAD = 16


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
    """Render outlines under factors; each pixel is the exact area coverage of the shape.

    At scale 1 the bounding box of a shape is 0.45 of the image wide and high. Position p in 0..1 puts the
    centroid at 0.25 + 0.5 p of the image. An image depends only on its own outline, factors and row, not on
    the batch, the number of threads or the processor.

    Args:
        outlines: the shapes.
        factors: scale, angle, position and colour; one row per image.
        image_size: height and width in pixels, 16 to 512.
        which: the index of the outline of each row of factors. By default outlines and rows are paired, and a
            single outline or row is repeated.
        rgb: colour images; gray images show the luminance of the colour.
        marker: paint the half with x > 0 black, to make the orientation visible.
        background: gray level or colour behind the shape, 0 to 1.
        foreground: gray level or colour of the shape; default: the colour in the factors.
        nuisances: disturbances of the images.
        seed: of the nuisances.
        rows: address of the nuisances of each image; default: its index in the batch.
        threads: number of threads; default: OMP_NUM_THREADS, or all available processors.
        dtype: uint8 (0 to 255) or float32 (0 to 1).
        channels_first: colour images as (n, 3, H, W) instead of (n, H, W, 3); gray images are (n, H, W).
        out: output array; reusing one saves the allocation.

    Example:
        >>> from everlearn.shapes import ShapeFamily
        >>> shapes = ShapeFamily(seed=0).outlines([0, 1, 2])
        >>> images = render(shapes, Factors(angle=0.3), image_size=32)
        >>> images.shape, int(images[0, 0, 0])
        ((3, 32, 32), 169)
    """
    if not is_integer(image_size):
        raise BadInput(f"image_size is {image_size!r}; it must be a whole number of pixels")
    check_range("image_size", image_size, MIN_SIZE_PX, MAX_SIZE_PX)
    size, checked_dtype = int(image_size), _check_dtype(dtype)
    which, factors = _pair(len(outlines), factors, which)
    n = len(factors)
    for name in ("scale", "x", "y") if n else ():  # single-precision coordinates would be too coarse
        values = getattr(factors, name)
        check_range(name, values[np.abs(values).argmax()], 0 if name == "scale" else -MAX_FACTOR, MAX_FACTOR)
    seed, threads = check_seed(seed), check_threads(threads)
    ids = np.atleast_1d(np.arange(n) if rows is None else rows)
    if ids.shape != (n,) or (n > 0 and ids.dtype.kind not in "iu"):
        raise BadInput(f"rows has shape {ids.shape}; it must hold one whole number for each of {n} images")
    ids = ids.astype(np.int64)
    background_rgb = _check_colour("background", background, n)
    shape_rgb = factors.colour if foreground is None else _check_colour("foreground", foreground, n)
    colour_shape = (3, size, size) if channels_first else (size, size, 3)
    out = _output((n, *(colour_shape if rgb else (size, size))), checked_dtype, out)
    paths, path = _paths(outlines, which, factors.scale, size)
    placements = Placements(path, factors.scale, factors.angle, factors.x, factors.y)
    levels = _levels(n, background_rgb, shape_rgb, marker, rgb)
    if nuisances is not None and not nuisances.are_none:
        renderer = NuisanceRenderer(nuisances, seed, size, paths, placements, levels)
        run_batches(lambda a, b: renderer.render(a, b, ids, channels_first, out), n, BATCH_SIZE, threads)
        return out
    scaled, flat = levels * np.float32(255) if out.dtype == np.uint8 else levels, out.reshape(-1)

    def draw(begin: int, end: int) -> None:
        if rgb:
            draw_rgb(begin, end, paths, placements, size, scaled, flat, not channels_first)
        else:
            draw_gray(begin, end, paths, placements, size, scaled, flat)

    # Few enough batches that their overhead is negligible, enough that threads finish together.
    batch_size = max(BATCH_SIZE, -(-n // (BATCHES_PER_THREAD * threads))) if threads > 1 else max(n, 1)
    run_batches(draw, n, batch_size, threads)
    return out


def _paths(outlines: Outlines, which: IntArray, scale: FloatArray, size: int) -> tuple[Paths, IntArray]:
    """The paths of the outlines in use, and the index of the path of each image.

    The tolerance depends on the scale of the image, rounded up to a power of two, and not on the batch.
    """
    if len(outlines) > len(which):
        used, which = np.unique(which, return_inverse=True)
        outlines = outlines[used]
    if not (scale > 1).any():
        return flatten_all(outlines, SHAPE_SIZE * size), which
    fraction, exponent = np.frexp(scale)
    detail = np.maximum(exponent - (fraction == 0.5), 0)
    details = np.flatnonzero(np.bincount(detail))
    copies = outlines if len(details) == 1 else outlines[np.tile(np.arange(len(outlines)), len(details))]
    unit_px = np.repeat(SHAPE_SIZE * size * 2.0**details, len(outlines))
    path = np.searchsorted(details, detail) * len(outlines) + which
    return flatten(copies.cubics, copies.n_vertices, unit_px), path


def _levels(
    n: int, background: FloatArray, shape: FloatArray, marker: bool, rgb: bool
) -> npt.NDArray[np.float32]:
    """(n, channels, 3) levels of background, shape and marked half, from 0 to 1."""
    levels = np.zeros((n, 3 if rgb else 1, 3), np.float32)
    red, green, blue = LUMINANCE
    for i, colours in enumerate((background, shape)):
        gray = red * colours[:, :1] + green * colours[:, 1:2] + blue * colours[:, 2:]
        levels[:, :, i] = colours if rgb else gray
    if not marker:
        levels[:, :, 2] = levels[:, :, 1]
    return levels


def _pair(n_outlines: int, factors: Factors, which: npt.ArrayLike | None) -> tuple[IntArray, Factors]:
    """The index of the outline and the factors of each image; a single outline or row is repeated."""
    indices = np.arange(n_outlines) if which is None else _check_which(which, n_outlines)
    lengths = (len(indices), len(factors))
    n = 0 if 0 in lengths else max(lengths)
    if any(length not in (1, n) for length in lengths):
        what = "outlines" if which is None else "entries of which"
        raise BadInput(
            f"there are {lengths[0]} {what} and {lengths[1]} rows of factors; give equal numbers, a single "
            "one of either, or the index of the outline of each row as which"
        )
    if len(factors) != n:
        factors = factors[np.zeros(n, np.int64)]
    return np.ascontiguousarray(np.broadcast_to(indices, n), dtype=np.int64), factors


def _check_which(which: npt.ArrayLike, n_outlines: int) -> npt.NDArray[Any]:
    indices = np.atleast_1d(np.asarray(which))
    if indices.size == 0:
        return np.empty(0, np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise BadInput("which must be a flat list of whole numbers, one per row of factors")
    if indices.min() < 0 or indices.max() >= n_outlines:
        raise BadInput(
            f"which contains {indices.min()} to {indices.max()}; with {n_outlines} outlines it must be "
            f"within 0 to {n_outlines - 1}"
        )
    return indices


def _check_colour(name: str, value: npt.ArrayLike, n: int) -> FloatArray:
    """A gray level or a colour, or the colours of n images, as (1, 3) or (n, 3) numbers in 0..1."""
    levels = as_floats(name, value)
    if levels.ndim == 0:
        levels = np.repeat(levels, 3)
    if levels.shape not in ((3,), (1, 3), (n, 3)):
        raise BadInput(
            f"{name} has shape {levels.shape}; give one level, or red, green and blue, for all of {n} images "
            "or for each"
        )
    if not ((levels >= 0) & (levels <= 1)).all():
        raise BadInput(f"{name} is {value!r}; its levels must be from 0 to 1")
    return levels.reshape(-1, 3)


def _check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    try:
        checked = np.dtype(dtype)
    except TypeError:
        raise BadInput(f"dtype is {dtype!r}; it must be uint8 or float32") from None
    if checked not in (np.dtype(np.uint8), np.dtype(np.float32)):
        raise BadInput(f"dtype is {checked}; it must be uint8 (0 to 255) or float32 (0 to 1)")
    return checked


def _output(shape: tuple[int, ...], dtype: np.dtype[Any], out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        given = f"{out.dtype}{out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise BadInput(f"out is {given}; the images are {dtype}{shape}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise BadInput("out must be a writeable, C-contiguous array")
    return out


@lru_cache(maxsize=2)
def is_renderer_compiled(rgb: bool) -> bool:
    """Whether the machine code of the renderer was on disk at the first call in this process."""
    return is_compiled(draw_rgb_into if rgb else draw_gray_into)


def available_cpus() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """OMP_NUM_THREADS, which a sweep sets for its processes, or else the number of processors."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(limit), available_cpus()) if limit.isdecimal() and int(limit) else available_cpus()


def check_threads(threads: int | None) -> int:
    """The number of threads; default: see `default_threads`."""
    if threads is None:
        return default_threads()
    if not is_integer(threads) or threads < 1:
        raise BadInput(f"threads is {threads!r}; it must be a whole number of at least 1")
    return int(threads)


def run_batches(work: Callable[[int, int], None], n: int, batch_size: int, threads: int) -> None:
    """Call work(begin, end) for consecutive batches of 0..n in several threads.

    The calling thread takes part. The others end with the call, so that the process can be forked later.
    """
    begins = iter(range(0, n, batch_size))
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for begin in begins:
                work(begin, min(begin + batch_size, n))
        except BaseException as error:  # raised again in the calling thread
            errors.append(error)

    helpers = [Thread(target=run) for _ in range(min(threads, -(-n // batch_size)) - 1)]
    for helper in helpers:
        helper.start()
    run()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
