"""Generative negative replay on one core: the twin of CORe50 at 32 px and a small network.

The network is trained on other shapes first, which stands in for ImageNet; `weights` says on which. The last
layers learn on, above the fourth convolution, where patterns are 64 maps of 4 by 4.
"""

from everlearn.papers.exhibit import Scale, Start
from everlearn.papers.negative.dial import LEVELS
from everlearn.papers.negative.variants import Settings, lines

WEIGHTS = "results/pooled-shapes.safetensors"
SHAPES = Start(
    "pooled-relu-renorm",
    {
        "stream": "sprites",
        "seed": 1000,
        "image_size": 32,
        "classes_per_task": 400,
        "images_per_class": 110,
        "split": [0.92, 0.04, 0.04],
        "scale": {"low": 0.8, "high": 1.4},
        "angle": {"low": 0.0, "high": 6.283185307179586},
        "x": {"low": 0.15, "high": 0.85},
        "y": {"low": 0.15, "high": 0.85},
        "texture": 0.1,
        "lighting": 0.2,
        "clutter": 2,
    },
    epochs=8,
    learning_rate=4e-3,
)
"""Four hundred shapes that are not in the streams played, each image with a background of its own."""

SEEDS = (0, 1, 2)
COMMON = {
    "stream.image_size": 32,
    "epochs": 4,
    "evaluation.ahead": False,
    "evaluation.probe_size": 4000,
    "learner.backbone": "pooled-relu-renorm",
    "learner.weights": WEIGHTS,
    "learner.learning_rate": 2e-3,
}
REPLAY = {**COMMON, "learner.replay_layer": 4, "learner.code_size": 32}
NC = {"batch_size": 56, "learner.memory_size": 1500, "learner.generator_replay": 27}
NIC = {"stream.scenario": "nic", "evaluation.every": 17}
NIC_REPLAY = {**NIC, "batch_size": 32, "learner.memory_size": 300}


def tuned(head_rate: float, body_rate: float, replay_size: int | None = None) -> dict[str, float]:
    """The settings of a line that were tuned: step sizes, and patterns replayed beside a batch of new ones.

    Example:
        >>> tuned(0.01, 1e-5)
        {'learner.head_rate': 0.01, 'learner.body_rate': 1e-05}
    """
    replayed = {} if replay_size is None else {"learner.replay_size": replay_size}
    return {"learner.head_rate": head_rate, "learner.body_rate": body_rate, **replayed}


def worse(variant: str, settings: Settings) -> dict[str, Settings]:
    """The same settings for all lines of a variant whose patterns are made worse."""
    return {f"{variant}, {level}": settings for level in LEVELS}


NC_OWN: dict[str, Settings] = {
    "none": tuned(0.001, 1e-4),
    "free": tuned(0.001, 1e-3),
    "PR-OD": tuned(0.01, 1e-5, 32),
    "NR-OD": tuned(0.003, 1e-5, 32),
    "PR-GD": tuned(0.001, 1e-3, 16),
    "NR-GD": tuned(0.001, 1e-3, 8),
    "NR-RD": tuned(0.001, 1e-3, 8),
    **worse("PR-GD", tuned(0.0003, 1e-4, 4)),
    **worse("NR-GD", tuned(0.001, 1e-4, 8)),
}
NIC_OWN: dict[str, Settings] = {
    "none": tuned(0.003, 1e-5),
    "free": tuned(0.01, 1e-5),
    "PR-OD": tuned(0.1, 1e-3, 32),
    "NR-OD": tuned(0.3, 1e-4, 32),
    "PR-GD": tuned(0.003, 1e-3, 16),
    "NR-GD": tuned(0.3, 1e-4, 32),
    "NR-RD": tuned(0.03, 1e-4, 8),
    **worse("PR-GD", tuned(0.01, 1e-4, 8)),
    **worse("NR-GD", tuned(0.003, 1e-4, 32)),
}
"""The best of all that `python -m benchmarks.negative_tuning` tried, under a seed that is not played here."""

LAPTOP = Scale(
    "laptop",
    "One core: a twin of CORe50 at 32 px, a small network trained on other shapes first.",
    (
        *lines(
            "nc",
            "negative",
            alone=COMMON,
            beside=REPLAY | NC,
            own=NC_OWN,
            seeds=SEEDS,
            stream="sprites-50",
            minutes=0.5,
        ),
        *lines(
            "nic",
            "negative",
            alone=COMMON | NIC,
            beside=REPLAY | NIC_REPLAY,
            own=NIC_OWN,
            seeds=SEEDS,
            stream="sprites-50",
            minutes=1.5,
        ),
    ),
)
