"""Bounded distances of codes: blocks of an image that an occluder hides have little weight."""

import numpy as np
import numpy.typing as npt

from everlearn.shapes.jit import compiled_in_place

Floats = npt.NDArray[np.float32]

N_SUMS = 16
"""Partial sums of a distance, which are computed in one SIMD instruction."""


def robust_distances(queries: Floats, codes: Floats, scales: npt.NDArray[np.floating], d: int) -> Floats:
    """Sums (n, m) of e^2 q with q = s^2 / (s^2 + e^2) over the first d differences e of codes.

    Args:
        queries: (n, at least d).
        codes: (m, at least d).
        scales: (n,) s of each query.
        d: values of a code that are compared.

    Example:
        >>> codes = np.array([[0, 0], [1, 1], [0, 1000]], np.float32)
        >>> robust_distances(codes[:1], codes, np.ones(1), 2)[0].round(2).tolist()
        [0.0, 1.0, 1.0]
    """
    out = np.empty((len(queries), len(codes)), np.float32)
    square_scales, sums = np.square(scales).astype(np.float32), np.empty(N_SUMS, np.float32)
    add_up(np.ascontiguousarray(queries), np.ascontiguousarray(codes), square_scales, d, sums, out)
    return out


@compiled_in_place
def add_up(queries: Floats, codes: Floats, square_scales: Floats, d: int, sums: Floats, out: Floats) -> None:
    """Write the distances of all queries and codes."""
    n_blocks = d // N_SUMS
    for i in range(len(queries)):
        square_scale = square_scales[i]
        for j in range(len(codes)):
            for lane in range(N_SUMS):
                sums[lane] = np.float32(0)
            for block in range(n_blocks):
                for lane in range(N_SUMS):
                    error = queries[i, block * N_SUMS + lane] - codes[j, block * N_SUMS + lane]
                    square = error * error
                    sums[lane] += square * (square_scale / (square_scale + square))
            total = np.float32(0)
            for lane in range(N_SUMS):
                total += sums[lane]
            for k in range(n_blocks * N_SUMS, d):
                error = queries[i, k] - codes[j, k]
                square = error * error
                total += square * (square_scale / (square_scale + square))
            out[i, j] = total
