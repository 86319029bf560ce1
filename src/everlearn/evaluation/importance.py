"""Disentanglement, completeness and informativeness of a code: by which of its parts matter for what."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray
from everlearn.errors import BadInput
from everlearn.evaluation.disentanglement import checked
from everlearn.evaluation.forest import importances


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
