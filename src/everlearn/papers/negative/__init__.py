"""Generative Negative Replay for Continual Learning (2021, under review at ICLR 2022), done again.

Takes nothing; gives the paper as `NEGATIVE`: its figures and tables, and three sizes at which to do them.
Each size is one file that lists who learns, with which settings.
"""

from everlearn.papers.exhibit import Paper
from everlearn.papers.negative.exhibits import EXHIBITS
from everlearn.papers.negative.laptop import LAPTOP, SHAPES, WEIGHTS
from everlearn.papers.negative.paper import PAPER
from everlearn.papers.negative.smoke import SMOKE

NEGATIVE = Paper(
    "negative",
    "Generative negative replay, done again",
    "negative.md",
    EXHIBITS,
    (SMOKE, LAPTOP, PAPER),
    {WEIGHTS: SHAPES},
)

__all__ = ["NEGATIVE"]
