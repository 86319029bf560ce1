"""Generative Negative Replay for Continual Learning (2021, under review at ICLR 2022)."""

from everlearn.papers.experiment import Paper
from everlearn.papers.gnr.experiments import EXPERIMENTS
from everlearn.papers.gnr.scales import PRETRAINED, SCALES

GNR = Paper("gnr", "Reproduction: generative negative replay", "gnr.md", EXPERIMENTS, SCALES, PRETRAINED)

__all__ = ["GNR"]
