"""Whether each part of a code stands for one factor, by gaps and by votes.

All functions take `codes`, (n, n_codes), and `factors`, (n, n_factors), row by row, and give a number from 0
to 1. Factors are numbers; a column that never changes says nothing and is left out.
"""

import numpy as np
import numpy.typing as npt

from everlearn.chance import Draws, FloatArray, IntArray, draws
from everlearn.errors import BadInput


def mig(codes: npt.ArrayLike, factors: npt.ArrayLike, *, n_bins: int = 20) -> float:
    """Mutual information gap: how much more the best code knows of a factor than the second best.

    Columns with more than `n_bins` different values are cut into that many equal intervals.

    Example:
        >>> factors = np.array([[a, b] for a in range(4) for b in range(4)])
        >>> round(mig(codes=factors, factors=factors), 3), mig(codes=np.ones((16, 2)), factors=factors)
        (1.0, 0.0)

    Reference: Chen et al. 2018, arXiv:1802.04942.
    """
    z, v = checked(codes, factors)
    binned = [discrete(column, n_bins) for column in z.T]
    known = np.array([[_information(z_bin, discrete(f, n_bins)) for f in v.T] for z_bin in binned])
    entropy = np.array([_information(discrete(f, n_bins), discrete(f, n_bins)) for f in v.T])
    return float((_gap(known) / entropy).mean())


def sap(codes: npt.ArrayLike, factors: npt.ArrayLike) -> float:
    """Separated attribute predictability: how much better the best code predicts a factor than the second.

    A code predicts by a straight line, judged by the share of variance it explains.

    Example:
        >>> factors = np.array([[a, b] for a in range(4) for b in range(4)])
        >>> round(sap(codes=-factors, factors=factors), 3)
        1.0

    Reference: Kumar et al. 2018, arXiv:1711.00848.
    """
    z, v = checked(codes, factors)
    z, v = z - z.mean(axis=0), v - v.mean(axis=0)
    scale = np.outer((z**2).sum(axis=0), (v**2).sum(axis=0))
    explained = np.divide((z.T @ v) ** 2, scale, out=np.zeros_like(scale), where=_varies(z)[:, None])
    return float(_gap(explained).mean())


def factor_vae_score(
    codes: npt.ArrayLike,
    factors: npt.ArrayLike,
    *,
    seed: int = 0,
    n_votes: int = 800,
    group: int = 64,
    n_bins: int = 20,
) -> float:
    """How well one can tell which factor was held still from which code moved least.

    In each vote a factor is held still over a group of rows; half of the votes teach the majority rule,
    the other half judge it.

    Example:
        >>> factors = np.array([[a, b] for a in range(8) for b in range(8)])
        >>> factor_vae_score(codes=factors[:, ::-1], factors=factors)
        1.0

    Reference: Kim and Mnih 2018, arXiv:1802.05983.
    """
    z, v = checked(codes, factors)
    z = z[:, _varies(z - z.mean(axis=0))]
    if not z.shape[1]:
        return 0.0
    z = z / z.std(axis=0)
    values = np.stack([discrete(column, n_bins) for column in v.T], axis=1)
    votes = [_vote(z, values, draws(seed, "factor vae", k), group) for k in range(2 * n_votes)]
    table = np.zeros((2, z.shape[1], v.shape[1]), np.int64)
    for k, (still, moved_least) in enumerate(votes):
        table[k % 2, moved_least, still] += 1
    learned, judged = table
    rule = learned.argmax(axis=1)
    return float(judged[np.arange(len(rule)), rule].sum() / judged.sum())


def checked(codes: npt.ArrayLike, factors: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Codes and factors as arrays that can be used, without factors that never change."""
    z, v = np.asarray(codes, np.float64), np.asarray(factors, np.float64)
    if z.ndim != 2 or v.ndim != 2 or len(z) != len(v) or not z.shape[1]:
        raise BadInput(
            f"codes have shape {z.shape} and factors {v.shape}; give (n, n_codes) and (n, n_factors)"
        )
    if not np.isfinite(z).all() or not np.isfinite(v).all():
        raise BadInput(
            "codes or factors hold a number that is not finite; every value must be an ordinary number"
        )
    v = v[:, [len(np.unique(column)) > 1 for column in v.T]]
    if not v.shape[1]:
        raise BadInput("no factor ever changes; at least one must, or there is nothing to tell apart")
    return z, v


def discrete(column: FloatArray, n_bins: int) -> IntArray:
    """A column as whole numbers from 0: its different values, or equal intervals if these are too many."""
    values, numbers = np.unique(column, return_inverse=True)
    if len(values) <= n_bins:
        return np.asarray(numbers, np.int64)
    share = (column - values[0]) / (values[-1] - values[0])
    return np.asarray(np.minimum(share * n_bins, n_bins - 1), np.int64)


def _information(a: IntArray, b: IntArray) -> float:
    """Mutual information of two discrete columns, in nats; of a column with itself, its entropy."""
    joint = np.bincount(a * (b.max() + 1) + b, minlength=(a.max() + 1) * (b.max() + 1)) / len(a)
    table = joint.reshape(a.max() + 1, b.max() + 1)
    alone = np.outer(table.sum(axis=1), table.sum(axis=0))
    there = table > 0
    return float(max(0.0, (table[there] * np.log(table[there] / alone[there])).sum()))


def _gap(known: FloatArray) -> FloatArray:
    """For each column, the largest value less the second; a lone code has nobody behind it."""
    ranked = np.sort(np.vstack([known, np.zeros(known.shape[1])]), axis=0)
    return np.asarray(ranked[-1] - ranked[-2])


def _varies(centred: FloatArray) -> npt.NDArray[np.bool_]:
    """Which columns change by more than rounding errors."""
    return np.asarray(np.abs(centred).max(axis=0) > 1e-12)


def _vote(z: FloatArray, values: IntArray, source: Draws, group: int) -> tuple[int, int]:
    still = int(source.integers(1, values.shape[1])[0])
    example = int(source.integers(1, len(values))[0])
    alike = np.flatnonzero(values[:, still] == values[example, still])
    rows = alike[source.integers(group, len(alike))]
    return still, int(z[rows].var(axis=0).argmin())
