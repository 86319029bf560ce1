"""The runs of the paper at three scales.

Series are named by scenario (nc: new classes, nic: new instances and classes) and variant. Codes of variants
are those of the paper: positive or negative replay (PR, NR) of original, generated or random activations (OD,
GD, RD). "none" is AR1, which replays nothing. "free" replays nothing and has no penalty on the backbone
either, only small learning rates, like the variants with replay. "naive" has no consolidated class weights.

Laptop: real images (`real`). Beside them there is a controlled case, sprites with the sessions and
backgrounds of CORe50 at 32 px, and a small network pretrained on other shapes; the layers above its fourth
convolution are trained, whose inputs are 64 maps of 4 by 4.

Paper: CORe50 at 128 px, MobileNet and the settings of appendices F and G. Of the 128 activations of a batch
14 (NC) or 64 (NIC) are replayed, of random ones 21 in NIC. The strength of AR1 is half of lambda times the
multiplier of importances, its ceiling the clip value over the multiplier. The paper starts from weights
trained on ImageNet: put those of the backbone "mobile" into results/mobile-imagenet.safetensors.
"""

from everlearn.papers.experiment import PretrainSpec, Run, Scale, Series, Settings, learner, slug, stream
from everlearn.papers.gnr import real
from everlearn.papers.gnr.real import COMPARED, CONV, FREE, NONE, SEEDS, VARIANTS

SCENARIOS = {"nc": "new classes in every task", "nic": "one session of one class per task"}
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
SPRITES: Settings = {
    **stream(image_size=32),
    "epochs": 4,
    "evaluation.forward_transfer": False,
    "evaluation.n_images": 4000,
    **learner(backbone="pooled-relu-renorm", weights=WEIGHTS, learning_rate=2e-3),
}
SPRITES_REPLAY = learner(replay_layer=4, n_latents=32)
SPRITES_TUNED: dict[tuple[str, str], tuple[float, float, int]] = {
    ("nc", NONE): (0.001, 1e-4, 0),
    ("nc", "PR-OD"): (0.01, 1e-5, 32),
    ("nc", "PR-GD"): (0.001, 1e-3, 16),
    ("nc", "NR-OD"): (0.003, 1e-5, 32),
    ("nc", "NR-GD"): (0.001, 1e-3, 8),
    ("nc", "NR-RD"): (0.001, 1e-3, 8),
    ("nic", NONE): (0.003, 1e-5, 0),
    ("nic", "PR-OD"): (0.1, 1e-3, 32),
    ("nic", "PR-GD"): (0.003, 1e-3, 16),
    ("nic", "NR-GD"): (0.003, 1e-4, 32),
    ("nic", "NR-RD"): (0.03, 1e-4, 8),
}
"""Learning rates of head and backbone and replayed activations per batch, tuned for each line on seed 9.

NR-GD in NIC has the smallest rate within two points of the best, which was 0.3 and diverged.
"""
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

# Settings of each scenario: smoke, sprites, paper; without and with replay.
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
        {**SPRITES_REPLAY, "batch_size": 56, **learner(memory_size=1500, generator_replay_size=27)},
        PAPER_NC_REPLAY,
    ),
    "nic": (
        {**SMOKE_REPLAY, **NIC, "n_tasks": 5},
        {**SPRITES_REPLAY, **NIC, **NIC_EVALUATION, "batch_size": 32, **learner(memory_size=300)},
        {
            **PAPER_NC_REPLAY,
            **PAPER_NIC,
            "batch_size": 64,
            **learner(memory_size=300, replay_size=64, generator_replay_size=64),
        },
    ),
}
MINUTES = {"nc": 0.5, "nic": 1.5}
RANDOM_NIC: Settings = {"batch_size": 107, **learner(replay_size=21)}
"""In the paper, fewer random activations are replayed in NIC."""


def _sizes(scenario: str, variant: str) -> tuple[Settings, Settings, Settings]:
    """The settings of a variant: smoke, sprites, paper."""
    smoke, sprites, paper = (WITHOUT_REPLAY if variant == NONE else WITH_REPLAY)[scenario]
    random = RANDOM_NIC if (scenario, variant) == ("nic", "NR-RD") else {}
    return smoke, sprites, {**paper, **random}


def _row(scenario: str, variant: str) -> Series:
    """A variant at all scales; on a laptop, with real images at the layer of the paper."""
    smoke, _, paper = _sizes(scenario, variant)
    laptop = real.real_run(CONV, scenario, variant)
    return Series(
        f"{scenario} {variant}",
        laptop.learner,
        Run(smoke),
        laptop,
        Run(paper, SEEDS),
        settings=VARIANTS[variant],
        protocols=real.quality(variant),
    )


def _sprites(scenario: str, variant: str) -> Series:
    """A variant on sprites, with settings of its own."""
    _, settings, _ = _sizes(scenario, variant)
    head_lr, backbone_lr, replay_size = SPRITES_TUNED[scenario, variant]
    size = learner(replay_size=replay_size) if replay_size else {}
    own = {**learner(head_lr=head_lr, backbone_lr=backbone_lr), **size}
    return Series(
        f"sprites {scenario} {variant}",
        "ar1" if variant == NONE else "gnr",
        laptop=Run(
            {**SPRITES, **settings, **own},
            SEEDS,
            MINUTES[scenario],
            folder=f"gnr/{slug(f'{scenario} {variant}')}",
            stream="sprites-50",
        ),
        settings=VARIANTS[variant],
    )


TABLE = (
    *(_row(scenario, variant) for scenario in SCENARIOS for variant in (FREE, *COMPARED)),
    *(_row("nc", variant) for variant in VARIANTS if variant.startswith(real.NAIVE)),
    *real.TABLE,
    *(_sprites(*each) for each in SPRITES_TUNED),
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
        "One core: fifty classes of CIFAR-100 in the tasks of CORe50, networks pretrained on ImageNet.",
        TABLE,
        folder="gnr",
        stream="cifar-50",
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
