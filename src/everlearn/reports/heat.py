"""Score tables of any length, in as many cells as a page can show."""

from collections.abc import Sequence

import numpy as np

from everlearn.chance import FloatArray
from everlearn.evaluation import ScoreTable

FINEST = 200
"""Cells in a row of a score table; more could not be told apart on paper."""


def mean_table(tables: Sequence[ScoreTable]) -> FloatArray:
    """Several score tables as one: the mean of what was measured in each cell, NaN where nothing was.

    Of more tasks than a page has room for, neighbouring ones share a cell; no table is made whole.

    Example:
        >>> mean_table([ScoreTable.from_array([[0.5, np.nan], [0.25, 1.0]]), ScoreTable.from_array([[1.0]])])
        array([[0.75,  nan],
               [0.25, 1.  ]])
    """
    n = max((table.n_tasks for table in tables), default=0)
    side = min(n, FINEST)
    sums, counts = np.zeros((2, side, side))
    for row in (row for table in tables for row in table.rows()):
        cells = row.tasks * side // n
        np.add.at(sums[row.after * side // n], cells, row.scores)
        np.add.at(counts[row.after * side // n], cells, 1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
