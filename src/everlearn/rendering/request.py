"""What is asked of the renderer, checked before anything is drawn."""

from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.chance import IntArray
from everlearn.errors import BadInput
from everlearn.factors import Factors

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
                f"-{FARTHEST_PLACE:g} to {FARTHEST_PLACE:g}, of which 0 to 1 lie in the picture"
            )


def pair_up(n_outlines: int, factors: Factors, which: npt.ArrayLike | None) -> tuple[IntArray, Factors]:
    """One outline number and one row of factors per picture; a single one of either is repeated."""
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
    """The address of each picture's own randomness: its number in the batch if nothing is said."""
    if rows is None:
        return np.arange(n)
    ids = np.atleast_1d(np.asarray(rows))
    if ids.shape != (n,) or (n > 0 and ids.dtype.kind not in "iu"):
        raise BadInput(f"rows has shape {ids.shape}; it must hold one whole number for each of {n} pictures")
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


def picture_shape(n: int, size: int, rgb: bool, channels_first: bool) -> tuple[int, ...]:
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
    """An array for the pictures: `out` if it was given and can take them as they are, else a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        given = f"{out.dtype}{out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise BadInput(f"out is {given}; the pictures are {dtype}{shape}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise BadInput("out cannot be written in one stretch; give a writeable array in C order, not a view")
    return out
