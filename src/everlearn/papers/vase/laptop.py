"""VASE on one core: real MNIST and Fashion-MNIST at 32 px, and small networks."""

from everlearn.papers.exhibit import Scale
from everlearn.papers.vase.choices import choices
from everlearn.papers.vase.variants import FIVE, MAIN, PAIR, RETURNING, elsewhere, imagining, lines

SIZE = "tiny"
"""Of the networks."""
IMAGES = 60_000
"""Images of a stage, if there are so many."""
EPOCHS = 6
"""Passes over each stage."""
EVERY = 1200
"""Batches between two looks at what can be read from codes."""
SEEDS = dict.fromkeys(("CCI-VAE", "A", "SD", "SDA"), (0, 1, 2))
"""Those that claims are about; all others have one."""

STAGE = 3.5
"""Minutes of a stage on one core, if all parts work; without dreams it is two."""

COMMON = {
    "stream.image_size": 32,
    "stream.images_per_stage": IMAGES,
    "epochs": EPOCHS,
    "evaluation.inside_every": EVERY,
    "learner.size": SIZE,
}

FIVE_OF_THEM = {**COMMON, "stream.sequence": FIVE, "learner.n_latents": 32}
"""Inverted images share no latent with what came before; of the paper's 24 too few would be left."""

GUARD = 1000
"""Steps after an arrival in which no new environment is found; inverted images take long to settle."""

LARGER = {**COMMON, "stream.sequence": MAIN, "learner.size": "small"}
"""Twice the channels, in less than twice the time."""
CLOSER = {
    **COMMON,
    "stream.sequence": MAIN,
    "stream.drawn_size": 24,
    "epochs": 2 * EPOCHS,
    "evaluation.inside_every": 5 * EVERY,
    "evaluation.lesson_size": 40_000,
    "learner.n_latents": 48,
    "learner.capacity_step": 0.02,
    "learner.capacity_most": 50.0,
}
"""Things of 24 pixels instead of 14, stages and C of twice the length, and probes that are taught more."""
SHORT = 2
"""Passes over each stage where only our own choices are compared."""

LAPTOP = Scale(
    "laptop",
    "One core: real MNIST and Fashion-MNIST at 32 px, small networks.",
    (
        *lines("vase", common={**COMMON, "stream.sequence": MAIN}, entangled={}, seeds=SEEDS, stage=STAGE),
        *elsewhere("vase", "five", ("CCI-VAE",), FIVE_OF_THEM, stage=STAGE),
        *imagining(
            "vase",
            main={**COMMON, "stream.sequence": MAIN},
            five={**FIVE_OF_THEM, "learner.guard": GUARD},
            pair={**COMMON, "stream.sequence": PAIR},
            entangled={},
            stage=STAGE,
        ),
        *elsewhere("vase", "returning", ("SDA",), {**COMMON, "stream.sequence": RETURNING}, stage=STAGE),
        *elsewhere("vase", "larger", ("CCI-VAE", "SDA"), LARGER, seeds=(0, 1), stage=2 * STAGE),
        *elsewhere("vase", "closer", ("CCI-VAE", "SDA"), CLOSER, seeds=(0, 1, 2), stage=2 * STAGE),
        *choices("vase", {**COMMON, "stream.sequence": MAIN, "epochs": SHORT}, stage=STAGE * SHORT / EPOCHS),
    ),
)
