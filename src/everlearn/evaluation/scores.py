"""The table every metric is a function of."""

import json
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray, IntArray
from everlearn.errors import BadInput


class ScoreTable:
    """scores[i, j]: accuracy on task j after task i was learned; NaN where nobody measured.

    Only what was measured is stored, so a long run that is judged now and then stays small. The table turns
    into an array by itself, so metrics take it, an array or a list of lists alike.

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
        self._after, self._task, self._score = array("q"), array("q"), array("d")

    def __len__(self) -> int:
        """How many scores were measured."""
        return len(self._score)

    def __repr__(self) -> str:
        return f"<ScoreTable: {len(self)} scores on {self.n_tasks} tasks>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreTable):
            return NotImplemented
        return np.array_equal(np.asarray(self), np.asarray(other), equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_tasks(self) -> int:
        """How many tasks there are, learned or measured."""
        return 1 + max((*self._after, *self._task), default=-1)

    def add(self, after: int, task: int, score: float) -> None:
        """Write down one measurement; a later one of the same pair counts instead of it."""
        self.add_row(after, {task: score})

    def add_row(self, after: int, scores: Mapping[int, float]) -> None:
        """Write down the scores on several tasks, measured after one."""
        for task, score in scores.items():
            _check(after, task, score)
        for task, score in scores.items():
            self._after.append(after)
            self._task.append(task)
            self._score.append(score)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The table as an array, made anew at each call."""
        table = np.full((self.n_tasks, self.n_tasks), np.nan)
        after, rows = self.rows()
        table[after] = rows
        return table.astype(np.float64 if dtype is None else dtype, copy=False)

    def rows(self) -> tuple[IntArray, FloatArray]:
        """The tasks after which anything was measured, and the rows of the table that belong to them."""
        after, row = np.unique(np.array(self._after, np.int64), return_inverse=True)
        table = np.full((len(after), self.n_tasks), np.nan)
        table[row, np.array(self._task, np.int64)] = self._score
        return after, table

    @classmethod
    def from_array(cls, scores: npt.ArrayLike) -> "ScoreTable":
        """The table of a square array with NaN where nothing was measured."""
        table = cls()
        for after, row in zip(*measured_rows(scores), strict=True):
            table.add_row(
                int(after), {int(task): float(row[task]) for task in np.flatnonzero(~np.isnan(row))}
            )
        return table

    def to_json(self) -> str:
        """All measurements as JSON: lists of after, task and score."""
        return json.dumps({"after": list(self._after), "task": list(self._task), "score": list(self._score)})

    @classmethod
    def from_json(cls, text: str) -> "ScoreTable":
        """The table that `to_json` wrote."""
        table = cls()
        try:
            columns = json.loads(text)
            rows = list(zip(columns["after"], columns["task"], columns["score"], strict=True))
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"this is not a score table in JSON ({error}); `to_json` writes one") from None
        for after, task, score in rows:
            table.add(after, task, score)
        return table


def measured_rows(scores: npt.ArrayLike) -> tuple[IntArray, FloatArray]:
    """Of a score table or anything like it, the numbers of the rows that hold a score, and these rows."""
    if isinstance(scores, ScoreTable):
        return scores.rows()
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise BadInput(f"scores have shape {table.shape}; they must be (n_tasks, n_tasks): after i, on j")
    after = np.flatnonzero(~np.isnan(table).all(axis=1))
    return after, table[after]


def _check(after: int, task: int, score: float) -> None:
    for name, number in (("after", after), ("task", task)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise BadInput(f"{name} is {number!r}; tasks are counted from 0")
    if isinstance(score, bool) or not isinstance(score, int | float | np.floating) or not 0 <= score <= 1:
        raise BadInput(f"the score on task {task} is {score!r}; an accuracy must be between 0 and 1")
