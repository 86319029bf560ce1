"""Infinite dSprites for Disentangled Continual Learning (Dziadzio et al. 2023)."""

from everlearn.papers.experiment import Paper
from everlearn.papers.sprites.figures import EXPERIMENTS
from everlearn.papers.sprites.scales import SCALES

SPRITES = Paper("sprites", "Reproduction: Infinite dSprites", "results.md", EXPERIMENTS, SCALES)

__all__ = ["SPRITES"]
