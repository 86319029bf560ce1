"""Light, lens and wallpaper: what happens to whole pictures, with additions and products only.

Sines and exponentials are rounded to a coarse grid first, because their last bit depends on the machine.
"""

import math

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]

_GRID = 2.0**20
_REACH = 3.0


def light(canvas: Float32Array, angles: FloatArray, strength: float) -> None:
    """Darken each picture (n, channels, H, W) evenly from one side to the other, by `strength` at most."""
    size = canvas.shape[-1]
    across = ((np.arange(size) + 0.5) / size * 2 - 1)[None]  # -1..1
    cos, sin = (_coarse(f(angles))[:, None] for f in (np.cos, np.sin))
    reach = np.abs(cos) + np.abs(sin)
    slope = (across * (cos / reach))[:, None, :] + (across * (sin / reach))[:, :, None]  # (n, H, W)
    canvas *= (1 - strength * (0.5 + 0.5 * slope)).astype(np.float32)[:, None]


def blur(canvas: Float32Array, radius: float) -> Float32Array:
    """Pictures (n, channels, H, W) blurred by a Gaussian; beyond its border a picture goes on as it ends."""
    weights = gaussian(radius)
    for axis in (2, 3):
        reach = len(weights) // 2
        padding = [(0, 0)] * 4
        padding[axis] = (reach, reach)
        wide = np.pad(canvas, padding, mode="edge")
        canvas = np.zeros_like(canvas)
        for start, weight in enumerate(weights):
            shifted = np.s_[start : start + canvas.shape[axis]]
            canvas += weight * (wide[:, :, shifted] if axis == 2 else wide[:, :, :, shifted])
    return canvas


def gaussian(radius: float) -> list[np.float32]:
    """Weights of a Gaussian of this standard deviation, which add up to 1.

    Example:
        >>> [round(float(weight), 3) for weight in gaussian(0.5)]
        [0.0, 0.106, 0.787, 0.106, 0.0]
    """
    reach = math.ceil(_REACH * radius)
    raw = [math.floor(math.exp(-0.5 * (i / radius) ** 2) * _GRID + 0.5) for i in range(-reach, reach + 1)]
    return [np.float32(weight / sum(raw)) for weight in raw]


def pattern(lattice: FloatArray, size: int) -> Float32Array:
    """A smooth pattern (n, size, size) between -1 and 1 through random lattice values (n, k, k) in 0..1."""
    position = (np.arange(size) + 0.5) / size * (lattice.shape[1] - 1)
    cell = position.astype(np.int64)
    part = position - cell
    ease = part * part * (3 - 2 * part)
    rows = lattice[:, cell] * (1 - ease)[:, None] + lattice[:, cell + 1] * ease[:, None]
    values = rows[:, :, cell] * (1 - ease) + rows[:, :, cell + 1] * ease
    return np.asarray(2 * values - 1, dtype=np.float32)


def _coarse(values: FloatArray) -> FloatArray:
    return np.asarray(np.rint(values * _GRID) / _GRID, dtype=np.float64)
