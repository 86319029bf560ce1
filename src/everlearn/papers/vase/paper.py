"""VASE at the paper's own size: 64 px, its networks; for a GPU.

Most of the paper's settings are in an appendix that is not at hand. Passes over a stage, the learning rate
and what lies between two looks at the codes are those that others have tried; the rest are our defaults.
"""

from everlearn.papers.exhibit import Scale
from everlearn.papers.vase.choices import choices
from everlearn.papers.vase.variants import FIVE, MAIN, PAIR, RETURNING, elsewhere, imagining, lines

SEEDS = dict.fromkeys(("CCI-VAE", "VAE", "A", "SD", "SDA", "SDA, entangled"), (0, 1, 2))
COMMON = {
    "device": "cuda",
    "stream.image_size": 64,
    "stream.images_per_stage": 60_000,
    "epochs": 30,
    "evaluation.inside_every": 2500,
    "learner.size": "paper",
    "learner.learning_rate": 6e-4,
    "learner.capacity_step": 0.001,
}
CLOSER = {
    **COMMON,
    "stream.sequence": MAIN,
    "stream.drawn_size": 48,
    "evaluation.lesson_size": 40_000,
    "learner.n_latents": 48,
    "learner.capacity_step": 0.002,
    "learner.capacity_most": 50.0,
}
"""Things of 48 pixels instead of 28, twice the C, and probes that are taught more."""
SHORT = 10
"""Passes over each stage where only our own choices are compared."""

PAPER = Scale(
    "paper",
    "The paper's own size: 64 px, its networks, 30 epochs a stage; for a GPU.",
    (
        *lines("paper/vase", common={**COMMON, "stream.sequence": MAIN}, entangled={}, seeds=SEEDS),
        *elsewhere("paper/vase", "five", ("CCI-VAE",), {**COMMON, "stream.sequence": FIVE}),
        *imagining(
            "paper/vase",
            main={**COMMON, "stream.sequence": MAIN},
            five={**COMMON, "stream.sequence": FIVE},
            pair={**COMMON, "stream.sequence": PAIR},
            entangled={},
        ),
        *elsewhere("paper/vase", "returning", ("SDA",), {**COMMON, "stream.sequence": RETURNING}),
        *elsewhere("paper/vase", "closer", ("CCI-VAE", "SDA"), CLOSER, seeds=(0, 1, 2)),
        *choices("paper/vase", {**COMMON, "stream.sequence": MAIN, "epochs": SHORT}),
    ),
)
