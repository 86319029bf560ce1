"""Values of disentanglement metrics computed with scikit-learn, for `test_disentanglement.py`.

Run `PYTHONPATH=. python tests/evaluation/make_disentanglement_values.py` with an interpreter that has
scikit-learn (1.9.1 was used), and put what it prints into the test.
"""

import json

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score, r2_score

from tests.evaluation.disentanglement_codes import tables

N_BINS = 20
DEPTHS = (2, 4, 8)
"""Depths of trees, of which each factor gets the best, as in the paper of DCI."""


def bins(column: np.ndarray) -> np.ndarray:
    """Indices of equal intervals."""
    edges = np.histogram(column, N_BINS)[1]
    return np.digitize(column, edges[1:-1])


def mig(z: np.ndarray, v: np.ndarray) -> float:
    """As in disentanglement_lib."""
    table = np.array([[mutual_info_score(bins(a), b) for b in v.T] for a in z.T])
    ranked = np.sort(table, axis=0)
    return float(((ranked[-1] - ranked[-2]) / [mutual_info_score(b, b) for b in v.T]).mean())


def sap(z: np.ndarray, v: np.ndarray) -> float:
    """R² of linear regressions from single codes."""
    r2 = [[LinearRegression().fit(a[:, None], b).score(a[:, None], b) for b in v.T] for a in z.T]
    ranked = np.sort(np.array(r2), axis=0)
    return float((ranked[-1] - ranked[-2]).mean())


def factor_vae(z: np.ndarray, v: np.ndarray) -> float:
    """Kim and Mnih's majority vote, with 8,000 votes."""
    rng, scale = np.random.RandomState(1), z.std(axis=0)
    votes = np.zeros((2, z.shape[1], v.shape[1]))
    for k in range(8000):
        factor = rng.randint(v.shape[1])
        rows = rng.choice(np.flatnonzero(v[:, factor] == v[rng.randint(len(v)), factor]), 64)
        votes[k % 2, np.argmin((z[rows] / scale).var(axis=0)), factor] += 1
    chosen = votes[0].argmax(axis=1)
    return float(votes[1][np.arange(len(chosen)), chosen].sum() / votes[1].sum())


def entropy_score(matrix: np.ndarray) -> float:
    """One minus the entropy of each row over its maximum, weighted by the sums of rows."""
    matrix = matrix[matrix.sum(axis=1) > 0]
    share = matrix / matrix.sum(axis=1, keepdims=True) + 1e-11
    entropy = -(share * np.log(share)).sum(axis=1) / np.log(matrix.shape[1])
    return float(np.average(1 - entropy, weights=matrix.sum(axis=1)))


def best_forest(z: np.ndarray, factor: np.ndarray) -> RandomForestRegressor:
    """The forest whose depth predicts best out of bag."""
    settings = {"min_samples_leaf": 5, "random_state": 0, "oob_score": True}
    forests = [RandomForestRegressor(100, max_depth=depth, **settings).fit(z, factor) for depth in DEPTHS]
    return max(forests, key=lambda forest: forest.oob_score_)


def dci(z: np.ndarray, v: np.ndarray) -> list[float]:
    """Disentanglement, completeness and R² with the importances of scikit-learn's forest."""
    forests = [best_forest(z, factor) for factor in v.T]
    matrix = np.stack([forest.feature_importances_ for forest in forests], axis=1)
    r2 = [r2_score(b, forest.oob_prediction_) for forest, b in zip(forests, v.T, strict=True)]
    return [entropy_score(matrix), entropy_score(matrix.T), max(0.0, float(np.mean(r2)))]


if __name__ == "__main__":
    v, codes = tables()
    values = {name: [mig(z, v), sap(z, v), factor_vae(z, v), *dci(z, v)] for name, z in codes.items()}
    print(json.dumps({name: [round(each, 3) for each in row] for name, row in values.items()}, indent=2))
