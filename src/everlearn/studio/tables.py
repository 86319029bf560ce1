"""Curves and score tables as tables that other programs read."""

import io
from collections.abc import Iterable, Sequence
from csv import writer

from everlearn.runs import Record
from everlearn.studio.following import curves

FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""First letters, narrow and wide, that make a spreadsheet compute what a cell says."""


def curves_csv(records: Sequence[Record], names: Sequence[str]) -> str:
    """One line a point: which record, which curve, how many tasks were learned, what was measured."""
    head = ("record", "name", "curve", "tasks", "value")
    return _csv(
        head,
        (
            (*_about(record), curve, x, y)
            for record in records
            for curve, points in curves(record).items()
            if curve in names
            for x, y in points
        ),
    )


def scores_csv(record: Record) -> str:
    """One line a score: which record, after which task, on which task (both from 1), the accuracy."""
    about = _about(record)
    return _csv(
        ("record", "name", "after", "on", "accuracy"),
        (
            (*about, row.after + 1, task + 1, score)
            for row in record.score_table().rows()
            for task, score in zip(row.tasks.tolist(), row.scores.tolist(), strict=True)
        ),
    )


def _csv(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    table = writer(text)
    table.writerow(head)
    table.writerows(rows)
    return text.getvalue()


def _about(record: Record) -> tuple[str, str]:
    return _harmless(record.folder.name), _harmless(record.name)


def _harmless(words: str) -> str:
    """Words that a spreadsheet shows instead of obeying.

    Example:
        >>> _harmless("=1+1"), _harmless(" =1+1"), _harmless("dcl")
        ("'=1+1", "' =1+1", 'dcl')
    """
    return "'" + words if words.lstrip().startswith(FORMULAS) or words.startswith(FORMULAS) else words
