"""Disentanglement metrics of latent codes: MIG, SAP, the FactorVAE score and DCI."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.random_forest import importances
from everlearn.rng import FloatArray, IntArray, Rng, rng_at

MIN_DCI_ROWS = 20


def mig(codes: npt.ArrayLike, factors: npt.ArrayLike, *, n_bins: int = 20) -> float:
    """Mutual information gap between the two most informative codes of each factor, over its entropy.

    Columns with more than `n_bins` different values are cut into that many equal intervals.

    Example:
        >>> factors = np.array([[a, b] for a in range(4) for b in range(4)])
        >>> round(mig(codes=factors, factors=factors), 3), mig(codes=np.ones((16, 2)), factors=factors)
        (1.0, 0.0)

    Reference: Chen et al. 2018, arXiv:1802.04942.
    """
    z, v = ([_discretize(column, n_bins) for column in table.T] for table in _checked(codes, factors))
    information = np.array([[_mutual_information(code, factor) for factor in v] for code in z])
    entropy = np.array([_mutual_information(factor, factor) for factor in v])
    return float((_gap(information) / entropy).mean())


def sap(codes: npt.ArrayLike, factors: npt.ArrayLike) -> float:
    """Separated attribute predictability: gap in R² of the two codes that best predict each factor linearly.

    Example:
        >>> factors = np.array([[a, b] for a in range(4) for b in range(4)])
        >>> round(sap(codes=-factors, factors=factors), 3)
        1.0

    Reference: Kumar et al. 2018, arXiv:1711.00848.
    """
    z, v = _checked(codes, factors)
    z, v = z - z.mean(axis=0), v - v.mean(axis=0)
    scale = np.outer((z**2).sum(axis=0), (v**2).sum(axis=0))
    r2 = np.divide((z.T @ v) ** 2, scale, out=np.zeros_like(scale), where=_varies(z)[:, None])
    return float(_gap(r2).mean())


def factor_vae_score(
    codes: npt.ArrayLike, factors: npt.ArrayLike, *, seed: int = 0, n_votes: int = 800, group: int = 64
) -> float:
    """Accuracy of a majority vote that predicts the fixed factor from the code with the lowest variance.

    Each vote fixes one factor over a group of rows. Half of the votes train the classifier, half test it.

    Example:
        >>> factors = np.array([[a, b] for a in range(8) for b in range(8)])
        >>> factor_vae_score(codes=factors[:, ::-1], factors=factors)
        1.0

    Reference: Kim and Mnih 2018, arXiv:1802.05983.
    """
    z, v = _checked(codes, factors)
    z = z[:, _varies(z - z.mean(axis=0))]
    if not z.shape[1]:
        return 0.0
    z = z / z.std(axis=0)
    values = np.stack([_discretize(column) for column in v.T], axis=1)
    votes = [_vote(z, values, rng_at(seed, "factor vae", k), group) for k in range(2 * n_votes)]
    table = np.zeros((2, z.shape[1], v.shape[1]), np.int64)
    for k, (fixed, lowest) in enumerate(votes):
        table[k % 2, lowest, fixed] += 1
    train, test = table
    majority = train.argmax(axis=1)
    return float(test[np.arange(len(majority)), majority].sum() / test.sum())


@dataclass(frozen=True, eq=False)
class DCI:
    """Disentanglement, completeness and informativeness, each from 0 to 1.

    Example:
        >>> factors = np.array([[a, b] for a in range(8) for b in range(8)] * 2)
        >>> result = dci(codes=factors, factors=factors)
        >>> result.importances.round(1)
        array([[1., 0.],
               [0., 1.]])
    """

    disentanglement: float  # 1 if each code is important for one factor only
    completeness: float  # 1 if each factor has a single important code
    informativeness: float  # R² of the factors predicted from all codes, on held-out rows
    importances: FloatArray  # (n_codes, n_factors) feature importances


def dci(codes: npt.ArrayLike, factors: npt.ArrayLike, *, seed: int = 0) -> DCI:
    """DCI with the feature importances of a random forest.

    A thousand rows or more give stable values. Constant factors are ignored.

    Example:
        >>> factors = np.array([[a, b] for a in range(8) for b in range(8)] * 8)
        >>> result = dci(codes=factors**3, factors=factors)
        >>> bool(min(result.disentanglement, result.completeness, result.informativeness) > 0.9)
        True

    Reference: Eastwood and Williams 2018, "A framework for the quantitative evaluation of disentangled
    representations".
    """
    z, v = _checked(codes, factors)
    if len(z) < MIN_DCI_ROWS:
        raise BadInput(f"there are {len(z)} rows; DCI needs at least {MIN_DCI_ROWS}, better a thousand")
    v = (v - v.mean(axis=0)) / v.std(axis=0)
    fitted = [importances(z, factor, seed=seed) for factor in v.T]
    matrix = np.stack([weights for weights, _ in fitted], axis=1)
    informativeness = float(np.mean([r2 for _, r2 in fitted]))
    return DCI(disentanglement_of(matrix), completeness_of(matrix), informativeness, matrix)


def disentanglement_of(importance: npt.ArrayLike) -> float:
    """One minus the normalized entropy of each code's importances (rows), weighted by their sums."""
    matrix = np.asarray(importance, np.float64)
    total = matrix.sum(axis=1)
    if not total.sum() > 0:
        return 0.0
    return float((total * (1 - _normalized_entropy(matrix))).sum() / total.sum())


def completeness_of(importance: npt.ArrayLike) -> float:
    """One minus the normalized entropy of each factor's importances (columns), weighted by their sums."""
    return disentanglement_of(np.asarray(importance, np.float64).T)


def _checked(codes: npt.ArrayLike, factors: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Codes and factors as float arrays, without constant factors."""
    z, v = np.asarray(codes, np.float64), np.asarray(factors, np.float64)
    if z.ndim != 2 or v.ndim != 2 or len(z) != len(v) or not z.shape[1]:
        raise BadInput(
            f"codes have shape {z.shape} and factors {v.shape}; give (n, n_codes) and (n, n_factors)"
        )
    if not np.isfinite(z).all() or not np.isfinite(v).all():
        raise BadInput("codes or factors hold values that are not finite; remove these rows")
    v = v[:, [len(np.unique(column)) > 1 for column in v.T]]
    if not v.shape[1]:
        raise BadInput("all factors are constant; at least one must vary")
    return z, v


def _discretize(column: FloatArray, n_bins: int = 20) -> IntArray:
    """Indices of the distinct values, or of equal intervals if there are more than n_bins values."""
    values, indices = np.unique(column, return_inverse=True)
    if len(values) <= n_bins:
        return np.asarray(indices, np.int64)
    share = (column - values[0]) / (values[-1] - values[0])
    return np.asarray(np.minimum(share * n_bins, n_bins - 1), np.int64)


def _mutual_information(a: IntArray, b: IntArray) -> float:
    """Mutual information of two discrete columns; of a column with itself, its entropy."""
    joint = np.bincount(a * (b.max() + 1) + b, minlength=(a.max() + 1) * (b.max() + 1)) / len(a)
    table = joint.reshape(a.max() + 1, b.max() + 1)
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    occurs = table > 0
    return float(max(0.0, (table[occurs] * np.log(table[occurs] / independent[occurs])).sum()))


def _gap(scores: FloatArray) -> FloatArray:
    """Largest minus second largest value of each column; a single code is compared with 0."""
    ranked = np.sort(np.vstack([scores, np.zeros(scores.shape[1])]), axis=0)
    return np.asarray(ranked[-1] - ranked[-2])


def _varies(centred: FloatArray) -> npt.NDArray[np.bool_]:
    """Which columns vary by more than rounding errors."""
    return np.asarray(np.abs(centred).max(axis=0) > 1e-12)


def _vote(z: FloatArray, values: IntArray, rng: Rng, group: int) -> tuple[int, int]:
    fixed = int(rng.integers(1, values.shape[1])[0])
    example = int(rng.integers(1, len(values))[0])
    same_value = np.flatnonzero(values[:, fixed] == values[example, fixed])
    rows = same_value[rng.integers(group, len(same_value))]
    return fixed, int(z[rows].var(axis=0).argmin())


def _normalized_entropy(matrix: FloatArray) -> FloatArray:
    """Entropy of each row divided by its maximum."""
    if matrix.shape[1] == 1:
        return np.zeros(len(matrix))
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1) / np.log(matrix.shape[1]))
