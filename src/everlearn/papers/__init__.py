"""Reproductions of papers: figures and tables, their runs at three scales, and checks of their claims."""

from everlearn.papers.experiment import Claim, Experiment, Paper, Scale, Series, Verdict
from everlearn.papers.gnr import GNR
from everlearn.papers.sprites import SPRITES
from everlearn.papers.vase import VASE

PAPERS = (SPRITES, GNR, VASE)
"""All papers that are reproduced."""

__all__ = ["PAPERS", "Claim", "Experiment", "Paper", "Scale", "Series", "Verdict"]
