"""A small random forest, which says how much each column matters for a number.

Trees are grown level by level on binned columns, all nodes of a level at once, so plain numpy is fast enough.
Rows to be judged are sent down the trees with weight 0, so no tree has to be kept.
"""

import math

import numpy as np

from everlearn.rng import FloatArray, IntArray, Rng, rng_at

N_BINS = 32
MIN_LEAF = 5
CHANCE = 10.0
"""Splitting noise seldom gains more than this many times its variance."""


def importances(
    columns: FloatArray, target: FloatArray, *, n_trees: int = 20, depth: int = 8, seed: int = 0
) -> tuple[FloatArray, float]:
    """How much of the variance of a target each column accounts for, and how well it is predicted.

    A quarter of the rows, drawn by the seed, is only predicted, never learned from.

    Returns:
        One importance for each column, adding up to 1 (or all 0), and R² on the rows held back, at least 0.

    Example:
        >>> columns = rng_at(0, "docs").uniform(2000).reshape(1000, 2)
        >>> weights, explained = importances(columns, 3 * columns[:, 1])
        >>> bool(weights[1] > 0.95), bool(explained > 0.95)
        (True, True)
    """
    bins = np.stack([_binned(column) for column in columns.T], axis=1)
    order = rng_at(seed, "forest split").permutation(len(target))
    held_back, taught = np.split(order, [len(target) // 4])
    y = target - target[taught].mean()
    total, predicted = np.zeros(columns.shape[1]), np.zeros(len(target))
    for tree in range(n_trees):
        source = rng_at(seed, "forest tree", tree)
        weights = np.zeros(len(target))
        np.add.at(weights, taught[source.integers(len(taught), len(taught))], 1.0)
        gains, values = _grow(bins, y, weights, depth, source)
        total += gains
        predicted += values / n_trees
    spread = ((y[held_back] - y[held_back].mean()) ** 2).sum()
    missed = ((y - predicted)[held_back] ** 2).sum()
    explained = max(0.0, 1.0 - float(missed / spread)) if spread > 0 else 0.0
    return total / total.sum() if total.sum() > 0 else total, explained


def _binned(column: FloatArray) -> IntArray:
    """Ranks cut into equal shares; few different values stay apart."""
    values, numbers = np.unique(column, return_inverse=True)
    if len(values) <= N_BINS:
        return np.asarray(numbers, np.int64)
    edges = np.quantile(column, np.arange(1, N_BINS) / N_BINS)
    return np.searchsorted(edges, column, side="right").astype(np.int64)


def _grow(
    bins: IntArray, y: FloatArray, weights: FloatArray, depth: int, source: Rng
) -> tuple[FloatArray, FloatArray]:
    """One tree: the gain due to each column, and the prediction for each row."""
    gains, predicted = np.zeros(bins.shape[1]), np.zeros(len(y))
    node = np.zeros(len(y), np.int64)
    for _ in range(depth):
        counts, sums = _histograms(bins, y, weights, node)
        by_chance = CHANCE * np.bincount(node, weights * (y - predicted) ** 2) / np.bincount(node, weights)
        gain, column, edge = _best_splits(counts, sums, by_chance, source)
        gains += np.bincount(column, weights=gain, minlength=len(gains))
        # A node that does not split stays whole, and may look at other columns at the next level.
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
    counts: FloatArray, sums: FloatArray, by_chance: FloatArray, source: Rng
) -> tuple[FloatArray, IntArray, IntArray]:
    """For each node the gain, the column and the last bin to the left of its best split.

    The gain is 0 where no split gains more than one would by chance.

    Each node sees a random half of the columns only, so that columns that say the same share the credit.
    """
    n_nodes, n_columns, _ = counts.shape
    n_left, left = counts.cumsum(axis=2)[..., :-1], sums.cumsum(axis=2)[..., :-1]
    n_all, everything = counts[:, :1].sum(axis=2, keepdims=True), sums[:, :1].sum(axis=2, keepdims=True)
    n_right, right = n_all - n_left, everything - left
    luck = source.uniform(n_nodes * n_columns).reshape(n_nodes, n_columns)
    seen = luck.argsort(axis=1).argsort(axis=1) < (n_columns + 1) // 2
    possible = (n_left >= MIN_LEAF) & (n_right >= MIN_LEAF) & seen[..., None]
    safe_left, safe_right = np.maximum(n_left, 1), np.maximum(n_right, 1)
    gain = left**2 / safe_left + right**2 / safe_right - everything**2 / np.maximum(n_all, 1)
    flat = np.where(possible & (gain > by_chance[:, None, None] + 1e-9), gain, 0.0).reshape(n_nodes, -1)
    best = flat.argmax(axis=1)
    column, edge = np.divmod(best, N_BINS - 1)
    return flat[np.arange(n_nodes), best], column, edge
