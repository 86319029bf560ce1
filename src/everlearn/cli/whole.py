"""Whole numbers on a command line."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token


def read_whole(_: type[int], tokens: Sequence[Token]) -> int:
    """The number that was written; left to itself, the parser would take 1.5 for 2."""
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=read_whole)]
