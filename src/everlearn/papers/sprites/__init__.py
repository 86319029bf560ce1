"""Infinite dSprites for Disentangled Continual Learning (Dziadzio et al. 2023), done again.

Takes nothing; gives the paper as `SPRITES`: its figures and tables, and three sizes at which to do them. Each
size is one file that lists who learns, with which settings.
"""

from everlearn.papers.exhibit import Paper
from everlearn.papers.sprites.exhibits import EXHIBITS
from everlearn.papers.sprites.laptop import LAPTOP
from everlearn.papers.sprites.paper import PAPER
from everlearn.papers.sprites.smoke import SMOKE

SPRITES = Paper("sprites", "Infinite dSprites, done again", "results.md", EXHIBITS, (SMOKE, LAPTOP, PAPER))

__all__ = ["SPRITES"]
