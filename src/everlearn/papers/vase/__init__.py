"""Life-Long Disentangled Representation Learning with Cross-Domain Latent Homologies (2018), done again.

Takes nothing; gives the paper as `VASE`: its figures and its table, and three sizes at which to do them.
Each size is one file that lists who learns, with which settings.
"""

from everlearn.papers.exhibit import Paper
from everlearn.papers.vase.exhibits import EXHIBITS
from everlearn.papers.vase.laptop import LAPTOP
from everlearn.papers.vase.paper import PAPER
from everlearn.papers.vase.smoke import SMOKE

VASE = Paper(
    "vase",
    "VASE: life-long disentangled representations, done again",
    "vase.md",
    EXHIBITS,
    (SMOKE, LAPTOP, PAPER),
)

__all__ = ["VASE"]
