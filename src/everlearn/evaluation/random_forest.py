"""A small regression forest in numpy, for feature importances.

Trees are grown level by level on binned columns, all nodes of a level at once. Test rows pass through the
trees with weight 0 while these are grown, so that no tree has to be stored.
"""

import math

import numpy as np

from everlearn.rng import FloatArray, IntArray, Rng, rng_at

N_TREES, DEPTH = 20, 8
N_BINS = 32
MIN_LEAF = 5
MIN_GAIN = 10.0
"""A split must gain more than this many times the variance in its node; splits of noise rarely do."""


def importances(columns: FloatArray, target: FloatArray, *, seed: int = 0) -> tuple[FloatArray, float]:
    """Share of the explained variance of a target due to each column, and R² on held-out rows.

    The shares sum to 1 (or are all 0); R² is at least 0. A random quarter of the rows is held out.
    """
    bins = np.stack([_bin(column) for column in columns.T], axis=1)
    order = rng_at(seed, "forest split").permutation(len(target))
    test, train = np.split(order, [len(target) // 4])
    y = target - target[train].mean()
    total, predicted = np.zeros(columns.shape[1]), np.zeros(len(target))
    for tree in range(N_TREES):
        rng = rng_at(seed, "forest tree", tree)
        weights = np.zeros(len(target))
        np.add.at(weights, train[rng.integers(len(train), len(train))], 1.0)
        gains, values = _grow(bins, y, weights, rng)
        total += gains
        predicted += values / N_TREES
    variance = ((y[test] - y[test].mean()) ** 2).sum()
    residual = ((y - predicted)[test] ** 2).sum()
    r2 = max(0.0, 1.0 - float(residual / variance)) if variance > 0 else 0.0
    return total / total.sum() if total.sum() > 0 else total, r2


def _bin(column: FloatArray) -> IntArray:
    """Quantile bins; one bin per value if there are few values."""
    values, indices = np.unique(column, return_inverse=True)
    if len(values) <= N_BINS:
        return np.asarray(indices, np.int64)
    edges = np.quantile(column, np.arange(1, N_BINS) / N_BINS)
    return np.searchsorted(edges, column, side="right").astype(np.int64)


def _grow(bins: IntArray, y: FloatArray, weights: FloatArray, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """One tree: the gain of each column, and the prediction for each row."""
    gains, predicted = np.zeros(bins.shape[1]), np.zeros(len(y))
    node = np.zeros(len(y), np.int64)
    for _ in range(DEPTH):
        counts, sums = _histograms(bins, y, weights, node)
        min_gain = MIN_GAIN * np.bincount(node, weights * (y - predicted) ** 2) / np.bincount(node, weights)
        gain, column, edge = _best_splits(counts, sums, min_gain, rng)
        gains += np.bincount(column, weights=gain, minlength=len(gains))
        # A node that does not split stays whole, and may try other columns at the next level.
        n_children = 1 + (gain > 0)
        right = (gain > 0)[node] & (bins[np.arange(len(y)), column[node]] > edge[node])
        node = (n_children.cumsum() - n_children)[node] + right
        predicted = (np.bincount(node, weights * y) / np.bincount(node, weights))[node]
    return gains, predicted


def _histograms(
    bins: IntArray, y: FloatArray, weights: FloatArray, node: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Weight and weighted sum of y, (n_nodes, n_columns, N_BINS)."""
    n_nodes, n_columns = int(node.max()) + 1, bins.shape[1]
    shape = (n_nodes, n_columns, N_BINS)
    cells = ((node[:, None] * n_columns + np.arange(n_columns)) * N_BINS + bins).ravel()
    counts, sums = (
        np.bincount(cells, weights=np.repeat(amount, n_columns), minlength=math.prod(shape))
        for amount in (weights, weights * y)
    )
    return counts.reshape(shape).astype(np.float64), sums.reshape(shape).astype(np.float64)


def _best_splits(
    counts: FloatArray, sums: FloatArray, min_gain: FloatArray, rng: Rng
) -> tuple[FloatArray, IntArray, IntArray]:
    """Gain, column and last left bin of the best split of each node; gain 0 if no split exceeds `min_gain`.

    Every node considers all columns: with a random subset, a node might split by an irrelevant column, which
    would then look important. Columns are compared in random order, so that equal columns share the
    importance.
    """
    n_nodes, n_columns, _ = counts.shape
    n_left, left = counts.cumsum(axis=2)[..., :-1], sums.cumsum(axis=2)[..., :-1]
    n_all, total = counts[:, :1].sum(axis=2, keepdims=True), sums[:, :1].sum(axis=2, keepdims=True)
    n_right, right = n_all - n_left, total - left
    possible = (n_left >= MIN_LEAF) & (n_right >= MIN_LEAF)
    safe_left, safe_right = np.maximum(n_left, 1), np.maximum(n_right, 1)
    gain = left**2 / safe_left + right**2 / safe_right - total**2 / np.maximum(n_all, 1)
    gain = np.where(possible & (gain > min_gain[:, None, None] + 1e-9), gain, 0.0)
    nodes = np.arange(n_nodes)
    order = rng.uniform(n_nodes * n_columns).reshape(n_nodes, n_columns).argsort(axis=1)
    best, edge = np.divmod(gain[nodes[:, None], order].reshape(n_nodes, -1).argmax(axis=1), N_BINS - 1)
    column = order[nodes, best]
    return gain[nodes, column, edge], column, edge
