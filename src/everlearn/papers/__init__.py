"""What papers claim, done again.

Takes the name of a figure or a table and a size; says which runs it needs. Gives, from the records of these
runs, the figure, the numbers, and whether they say what the paper says.
"""

from everlearn.papers.exhibit import Claim, Exhibit, Line, Paper, Scale, Verdict
from everlearn.papers.negative import NEGATIVE
from everlearn.papers.sprites import SPRITES
from everlearn.papers.vase import VASE

PAPERS = (SPRITES, NEGATIVE, VASE)
"""All papers that are done again."""

__all__ = ["PAPERS", "Claim", "Exhibit", "Line", "Paper", "Scale", "Verdict"]
