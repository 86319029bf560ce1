"""The runs of the paper at three scales.

Series are named by scenario (nc: new classes, nic: new instances and classes) and variant. Codes of variants
are those of the paper: positive or negative replay (PR, NR) of original, generated or random activations (OD,
GD, RD). "AR1" replays nothing. "no penalty" replays nothing and has no penalty on the backbone either, only
small learning rates, like the variants with replay.

Laptop: sprites with the sessions and backgrounds of CORe50 at 32 px, and a small network pretrained on other
shapes. The layers above the fourth convolution are trained; their inputs are 64 maps of 4 by 4.

Paper: CORe50 at 128 px, MobileNet and the settings of appendices F and G. Of the 128 activations of a batch
14 (NC) or 64 (NIC) are replayed, of random ones 21 in NIC. The strength of AR1 is half of lambda times the
multiplier of importances, its ceiling the clip value over the multiplier. The paper starts from weights
trained on ImageNet: put those of the backbone "mobile" into results/mobile-imagenet.safetensors.
"""

from typing import Any

from everlearn.papers.experiment import PretrainSpec, Run, Scale, Series, Settings, learner, stream
from everlearn.papers.gnr import real

SCENARIOS = {"nc": "new classes in every task", "nic": "one session of one class per task"}
ROLES = {"PR": "positive", "NR": "negative"}
SOURCES = {"OD": "real", "GD": "generated", "RD": "random"}
AR1, NO_PENALTY, CORRUPTED = "AR1", "no penalty", "corrupted 1"
DEGRADED = {
    "corrupted 0.5": learner(corruption=0.5),
    "unguided": learner(eta=0.0),
    CORRUPTED: learner(corruption=1.0),
}
"""Settings that make generated activations worse, the best first.

Corruption exchanges a share of the values of an activation for those of other activations of any class; since
the generator is trained on the result, it accumulates. An unguided generator is trained without the loss of
the classifier, and its classes mix.
"""
SEEDS = (0, 1, 2)
WEIGHTS = "results/pooled-shapes.safetensors"
PRETRAINED = {
    WEIGHTS: PretrainSpec(
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
}
"""Four hundred shapes that no run contains, each image with its own background."""

NIC, NIC_EVALUATION = stream(scenario="nic"), {"evaluation.every_n_tasks": 17}
LAPTOP_REPLAY = learner(replay_layer=4, n_latents=32)
SMOKE_REPLAY = learner(memory_size=8, replay_size=4, generator_width=8, n_latents=4, generator_epochs=1)
PAPER_NC = {
    "batch_size": 128,
    **learner(learning_rate=3e-4, backbone_lr=3e-4, head_lr=3e-4, strength=0.4, max_importance=1e3),
}
PAPER_NC_REPLAY = {
    "batch_size": 114,
    **learner(replay_layer=11, n_latents=100, beta=0.1, eta=0.01),
    **learner(learning_rate=3e-2, backbone_lr=5e-5, head_lr=5e-4),
    **learner(memory_size=1500, replay_size=14, generator_replay_size=27),
}
PAPER_NIC = {**NIC, **NIC_EVALUATION, **learner(learning_rate=1e-3, backbone_lr=1e-4, head_lr=1e-3)}

# Settings of each scenario: smoke, laptop, paper; without and with replay.
WITHOUT_REPLAY: dict[str, tuple[Settings, Settings, Settings]] = {
    "nc": ({}, {}, PAPER_NC),
    "nic": (
        {**NIC, "n_tasks": 5},
        {**NIC, **NIC_EVALUATION},
        {**PAPER_NC, **PAPER_NIC, **learner(strength=23.0, max_importance=50.0)},
    ),
}
WITH_REPLAY: dict[str, tuple[Settings, Settings, Settings]] = {
    "nc": (
        SMOKE_REPLAY,
        {**LAPTOP_REPLAY, "batch_size": 56, **learner(memory_size=1500, generator_replay_size=27)},
        PAPER_NC_REPLAY,
    ),
    "nic": (
        {**SMOKE_REPLAY, **NIC, "n_tasks": 5},
        {**LAPTOP_REPLAY, **NIC, **NIC_EVALUATION, "batch_size": 32, **learner(memory_size=300)},
        {
            **PAPER_NC_REPLAY,
            **PAPER_NIC,
            "batch_size": 64,
            **learner(memory_size=300, replay_size=64, generator_replay_size=64),
        },
    ),
}
MINUTES = {"nc": 0.5, "nic": 1.5}


def _row(
    scenario: str, variant: str, head_lr: float, backbone_lr: float, replay_size: int = 0, **paper: Any
) -> Series:
    """A variant in a scenario, with its tuned settings at laptop scale."""
    tuned = learner(head_lr=head_lr, backbone_lr=backbone_lr)
    size = learner(replay_size=replay_size) if replay_size else {}
    smoke, laptop, full = (WITHOUT_REPLAY if variant == AR1 else WITH_REPLAY)[scenario]
    return Series(
        f"{scenario} {variant}",
        "ar1" if variant == AR1 else "gnr",
        Run(smoke),
        Run({**laptop, **tuned, **size}, SEEDS, MINUTES[scenario]),
        Run({**full, **paper}, SEEDS),
        settings=variant_settings(variant),
    )


def variant_settings(variant: str) -> Settings:
    """The settings of GNR that make up a variant.

    Example:
        >>> variant_settings("NR-GD, unguided")
        {'learner.source': 'generated', 'learner.role': 'negative', 'learner.eta': 0.0}
    """
    if variant == AR1:
        return {}
    if variant == NO_PENALTY:
        return learner(source="none")
    code, _, level = variant.partition(", ")
    role, source = code.split("-")
    return {**learner(source=SOURCES[source], role=ROLES[role]), **DEGRADED.get(level, {})}


# Columns: scenario, variant, and the best settings found by `python -m benchmarks.gnr_tuning` under seeds
# that are not reported: learning rates of the head and of the backbone, replayed activations per batch.
TABLE = (
    _row("nc", AR1, 0.001, 1e-4),
    _row("nc", NO_PENALTY, 0.001, 1e-3),
    _row("nc", "PR-OD", 0.01, 1e-5, 32),
    _row("nc", "PR-GD", 0.001, 1e-3, 16),
    *(_row("nc", f"PR-GD, {level}", 0.0003, 1e-4, 4) for level in DEGRADED),
    _row("nc", "NR-OD", 0.003, 1e-5, 32),
    _row("nc", "NR-GD", 0.001, 1e-3, 8),
    *(_row("nc", f"NR-GD, {level}", 0.001, 1e-4, 8) for level in DEGRADED),
    _row("nc", "NR-RD", 0.001, 1e-3, 8),
    _row("nic", AR1, 0.003, 1e-5),
    _row("nic", NO_PENALTY, 0.01, 1e-5),
    _row("nic", "PR-OD", 0.1, 1e-3, 32),
    _row("nic", "PR-GD", 0.003, 1e-3, 16),
    *(_row("nic", f"PR-GD, {level}", 0.01, 1e-4, 8) for level in DEGRADED),
    _row("nic", "NR-OD", 0.3, 1e-4, 32),
    _row("nic", "NR-GD", 0.3, 1e-4, 32),
    *(_row("nic", f"NR-GD, {level}", 0.003, 1e-4, 32) for level in DEGRADED),
    _row("nic", "NR-RD", 0.03, 1e-4, 8, batch_size=107, **learner(replay_size=21)),
    *real.TABLE,
)

SCALES = (
    Scale(
        "smoke",
        "For tests: 16 px, four shapes, three frames per session.",
        TABLE,
        folder="smoke",
        stream="sprites-50",
        settings={
            **stream(image_size=16, frames_per_session=3, n_classes=4, classes_per_task=1, first_classes=2),
            "evaluation.forward_transfer": False,
            "batch_size": 16,
            **learner(backbone="small-renorm"),
        },
    ),
    Scale(
        "laptop",
        "One core: sprites in the sessions of CORe50 at 32 px, a small network pretrained on other shapes.",
        TABLE,
        folder="gnr",
        stream="sprites-50",
        settings={
            **stream(image_size=32),
            "epochs": 4,
            "evaluation.forward_transfer": False,
            "evaluation.n_images": 4000,
            **learner(backbone="pooled-relu-renorm", weights=WEIGHTS, learning_rate=2e-3),
        },
    ),
    Scale(
        "paper",
        "The size of the paper: CORe50 at 128 px, MobileNet, 4 epochs; needs a GPU.",
        TABLE,
        folder="paper",
        stream="core50",
        settings={
            "device": "cuda",
            "epochs": 4,
            "evaluation.forward_transfer": False,
            "evaluation.n_images": 50_000,
            **learner(backbone="mobile", weights="results/mobile-imagenet.safetensors", weight_decay=1e-4),
        },
    ),
)
