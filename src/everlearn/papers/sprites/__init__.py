"""Infinite dSprites for Disentangled Continual Learning (Dziadzio et al. 2023), done again.

Takes nothing; gives the figures and tables of the paper as `EXHIBITS`, and three sizes at which to do them as
`SCALES`. Each size is one file that lists who learns, with which settings.
"""

from everlearn.papers.sprites.exhibits import EXHIBITS
from everlearn.papers.sprites.laptop import LAPTOP
from everlearn.papers.sprites.paper import PAPER
from everlearn.papers.sprites.smoke import SMOKE

SCALES = (SMOKE, LAPTOP, PAPER)

__all__ = ["EXHIBITS", "SCALES"]
