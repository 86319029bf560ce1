"""Curves as tables that other programs read."""

import io
from csv import writer

from everlearn.runs import Record
from everlearn.studio.curves import Points

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First letters that make a spreadsheet compute what a cell says."""


def csv(record: Record, points: Points) -> str:
    """One line a point: which record, which curve, how many tasks were learned, what was measured."""
    text = io.StringIO()
    rows = writer(text)
    rows.writerow(["record", "name", "curve", "tasks", "value"])
    about = [_harmless(record.folder.name), _harmless(record.name)]
    for curve, some in points.items():
        rows.writerows([*about, curve, x, y] for x, y in some)
    return text.getvalue()


def _harmless(words: str) -> str:
    """Words that a spreadsheet shows instead of obeying.

    Example:
        >>> _harmless("=1+1"), _harmless("dcl")
        ("'=1+1", 'dcl')
    """
    return "'" + words if words.startswith(FORMULAS) else words
