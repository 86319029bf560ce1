"""Disentanglement, completeness and informativeness of a code: by which of its parts matter for what."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.random_forest import importances
from everlearn.rng import FloatArray, IntArray, Rng, rng_at


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
    votes = [_vote(z, values, rng_at(seed, "factor vae", k), group) for k in range(2 * n_votes)]
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


def _vote(z: FloatArray, values: IntArray, source: Rng, group: int) -> tuple[int, int]:
    still = int(source.integers(1, values.shape[1])[0])
    example = int(source.integers(1, len(values))[0])
    alike = np.flatnonzero(values[:, still] == values[example, still])
    rows = alike[source.integers(group, len(alike))]
    return still, int(z[rows].var(axis=0).argmin())


@dataclass(frozen=True, eq=False)
class DCI:
    """Three answers from 0 to 1.

    Attributes:
        disentanglement: does each code matter for one factor only?
        completeness: does one code alone matter for each factor?
        informativeness: how much of the factors can be predicted from all codes together (R²)?
        importances: (n_codes, n_factors) how much each code matters for each factor.
    """

    disentanglement: float
    completeness: float
    informativeness: float
    importances: FloatArray


def dci(codes: npt.ArrayLike, factors: npt.ArrayLike, *, seed: int = 0) -> DCI:
    """Ask a random forest which codes predict which factors.

    Args:
        codes: (n, n_codes); a thousand rows or more give steady numbers.
        factors: (n, n_factors); columns that never change are left out.
        seed: decides the trees and which rows are held back to judge them.

    Example:
        >>> factors = np.array([[a, b] for a in range(8) for b in range(8)] * 8)
        >>> result = dci(codes=factors**3, factors=factors)
        >>> bool(min(result.disentanglement, result.completeness, result.informativeness) > 0.9)
        True

    Reference: Eastwood and Williams 2018, "A framework for the quantitative evaluation of disentangled
    representations".
    """
    z, v = checked(codes, factors)
    if len(z) < 20:
        raise BadInput(f"there are {len(z)} rows; a forest needs 20 to say anything, and better a thousand")
    v = (v - v.mean(axis=0)) / v.std(axis=0)
    answers = [importances(z, factor, seed=seed) for factor in v.T]
    matrix = np.stack([weights for weights, _ in answers], axis=1)
    informativeness = float(np.mean([explained for _, explained in answers]))
    return DCI(disentanglement_of(matrix), completeness_of(matrix), informativeness, matrix)


def disentanglement_of(importance: npt.ArrayLike) -> float:
    """1 if each code (row) matters for one factor (column) only, 0 if each matters for all alike.

    Codes count by how much they matter at all.

    Example:
        >>> disentanglement_of([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), disentanglement_of([[0.5, 0.5]])
        (1.0, 0.0)
    """
    matrix = np.asarray(importance, np.float64)
    total = matrix.sum(axis=1)
    if not total.sum() > 0:
        return 0.0
    return float((total * (1 - _spread(matrix))).sum() / total.sum())


def completeness_of(importance: npt.ArrayLike) -> float:
    """1 if one code (row) alone matters for each factor (column), 0 if all matter alike.

    Example:
        >>> completeness_of([[0.5, 0.0], [0.5, 0.0], [0.0, 0.5], [0.0, 0.5]])
        0.5
    """
    return disentanglement_of(np.asarray(importance, np.float64).T)


def _spread(matrix: FloatArray) -> FloatArray:
    """The entropy of each row, 0 if all is in one place, 1 if it is spread evenly."""
    if matrix.shape[1] == 1:
        return np.zeros(len(matrix))
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1) / np.log(matrix.shape[1]))
