"""Random numbers for pictures, by (seed, row), compiled."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from everlearn.shapes.compiled import compiled
from everlearn.shapes.philox import Word, words

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

# Far from the turns that shapes use, so that a family and its pictures may have the same seed.
# Each distractor of the clutter has a turn of its own, from CLUTTER on.
TEXTURE, OCCLUDER, LIGHTING, NOISE, CLUTTER = range(1 << 20, (1 << 20) + 5)

_QUANTILE_BITS = 12
_GRID = 2.0**20


@lru_cache(maxsize=1)
def normal_quantiles() -> Float32Array:
    """4096 equally likely standard normal values, on a coarse grid so that all machines agree."""
    n = 1 << _QUANTILE_BITS
    exact = [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)]
    return (np.rint(np.array(exact) * _GRID) / _GRID).astype(np.float32)


@compiled
def uniforms(seed: Word, rows: IntArray, turn: int, n: int) -> FloatArray:
    """(len(rows), n) numbers in 0..1 that belong to each row."""
    values = np.empty((len(rows), n))
    for k in range(len(rows)):
        for j in range(n):
            first, _, _, _ = words(seed, Word(rows[k]), j, turn)
            values[k, j] = (float(first) + 0.5) * 2.0**-32
    return values


@compiled
def add_noise(
    seed: Word,
    rows: IntArray,
    turn: int,
    quantiles: Float32Array,
    strength: np.float32,
    pictures: Float32Array,
) -> None:
    """Add normal noise to pictures (len(rows), values); eight values share one block of random words."""
    low = Word(len(quantiles) - 1)
    for k in range(len(rows)):
        for block in range((pictures.shape[1] + 7) // 8):
            four = words(seed, Word(rows[k]), block, turn)
            for j in range(min(8, pictures.shape[1] - 8 * block)):
                bits = (four[j // 2] >> Word(16 * (j % 2))) & low
                pictures[k, 8 * block + j] += strength * quantiles[bits]
