"""Life-Long Disentangled Representation Learning with Cross-Domain Latent Homologies (2018)."""

from everlearn.papers.experiment import Paper
from everlearn.papers.vase.figures import EXPERIMENTS
from everlearn.papers.vase.scales import SCALES

VASE = Paper(
    "vase", "Reproduction: VASE, life-long disentangled representations", "vase.md", EXPERIMENTS, SCALES
)

__all__ = ["VASE"]
