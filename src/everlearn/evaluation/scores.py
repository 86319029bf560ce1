"""The score table: accuracy on task j after task i. Every continual-learning metric is a function of it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import FloatArray, IntArray


class Row(NamedTuple):
    """Scores of one evaluation.

    Example:
        >>> row = Row.from_counts(1, tasks=[0, 1], correct=[3, 8], total=[10, 10])
        >>> row.after, row.scores
        (1, array([0.3, 0.8]))
    """

    after: int  # task that was learned last or is being learned
    tasks: IntArray  # evaluated tasks, in increasing order
    scores: FloatArray  # accuracy on each of them

    @classmethod
    def from_counts(
        cls, after: int, tasks: Sequence[int], correct: Sequence[int], total: Sequence[int]
    ) -> "Row":
        """A row from correct and total predictions per task; tasks in increasing order."""
        return cls(after, np.array(tasks, np.int64), np.array(correct) / np.array(total))


class ScoreTable:
    """scores[i, j]: accuracy on task j after task i was learned; NaN if not measured.

    The table is sparse: only measured scores are stored and read. `np.asarray` makes it dense.

    Example:
        >>> table = ScoreTable()
        >>> table.add_row(0, {0: 1.0})
        >>> table.add_row(2, {0: 0.5, 2: 1.0})
        >>> np.asarray(table)
        array([[1. , nan, nan],
               [nan, nan, nan],
               [0.5, nan, 1. ]])
    """

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self.n_tasks = 0
        """Number of tasks, learned or measured."""

    def __len__(self) -> int:
        """Number of measured scores."""
        return sum(len(row.tasks) for row in self._rows.values())

    def __repr__(self) -> str:
        return f"<ScoreTable: {len(self)} scores on {self.n_tasks} tasks>"

    def add(self, after: int, task: int, score: float) -> None:
        """Set one score."""
        self.add_row(after, {task: score})

    def add_row(self, after: int, scores: Mapping[int, float]) -> None:
        """Set the scores on several tasks after one task; other scores of the row stay."""
        for task, score in scores.items():
            _check(after, task, score)
        if scores:
            before = self._rows.get(after)
            known = {} if before is None else dict(zip(before.tasks.tolist(), before.scores, strict=True))
            tasks, values = zip(*sorted({**known, **scores}.items()), strict=True)
            self.set_row(Row(int(after), np.array(tasks, np.int64), np.array(values, np.float64)))

    def set_row(self, row: Row) -> None:
        """Replace a whole row, without checks."""
        self._rows[row.after] = row
        self.n_tasks = max(self.n_tasks, row.after + 1, int(row.tasks.max(initial=-1)) + 1)

    def rows(self) -> Iterator[Row]:
        """All rows in order."""
        return (self._rows[after] for after in sorted(self._rows))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A dense copy of the table."""
        table = np.full((self.n_tasks, self.n_tasks), np.nan)
        for row in self._rows.values():
            table[row.after, row.tasks] = row.scores
        return table.astype(np.float64 if dtype is None else dtype, copy=False)

    @classmethod
    def from_array(cls, scores: npt.ArrayLike) -> "ScoreTable":
        """The table of a square array; NaN means not measured."""
        square = np.asarray(scores, dtype=np.float64)
        if square.ndim != 2 or square.shape[0] != square.shape[1]:
            raise BadInput(f"scores have shape {square.shape}; give (n_tasks, n_tasks): after i, on j")
        table = cls()
        for after in np.flatnonzero(~np.isnan(square).all(axis=1)).tolist():
            tasks = np.flatnonzero(~np.isnan(square[after]))
            table.set_row(Row(after, tasks, square[after, tasks]))
        table.n_tasks = len(square)
        return table


def as_table(scores: npt.ArrayLike) -> ScoreTable:
    """A score table from a score table, a square array or a list of lists."""
    return scores if isinstance(scores, ScoreTable) else ScoreTable.from_array(scores)


def mean_table(tables: Sequence[ScoreTable], max_size: int = 200) -> FloatArray:
    """Mean of several score tables as a dense array; NaN if not measured.

    With more tasks than `max_size`, neighbouring tasks share a cell.
    """
    n = max((table.n_tasks for table in tables), default=0)
    side = min(n, max_size)
    sums, counts = np.zeros((2, side, side))
    for row in (row for table in tables for row in table.rows()):
        cells = row.tasks * side // n
        np.add.at(sums[row.after * side // n], cells, row.scores)
        np.add.at(counts[row.after * side // n], cells, 1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def mean_without_nan(values: Iterable[float]) -> float:
    """Mean without NaN; summed exactly, so that it does not depend on the order."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _check(after: int, task: int, score: float) -> None:
    for name, number in (("after", after), ("task", task)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise BadInput(f"{name} is {number!r}; tasks are integers from 0")
    if isinstance(score, bool) or not isinstance(score, int | float | np.floating) or not 0 <= score <= 1:
        raise BadInput(f"the score on task {task} is {score!r}; an accuracy must be between 0 and 1")
