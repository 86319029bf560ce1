"""Generative Negative Replay for Continual Learning (2021, under review at ICLR 2022)."""

from everlearn.papers.experiment import Paper
from everlearn.papers.gnr import figures, real_figures
from everlearn.papers.gnr.scales import PRETRAINED, SCALES

EXPERIMENTS = (*figures.EXPERIMENTS, *real_figures.EXPERIMENTS)
GNR = Paper("gnr", "Reproduction: generative negative replay", "gnr.md", EXPERIMENTS, SCALES, PRETRAINED)

__all__ = ["GNR"]
