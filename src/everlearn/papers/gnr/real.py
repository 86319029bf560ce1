"""The runs of `gnr-real`: GNR on real images with a network pretrained on ImageNet.

Series are named "real", scenario and variant. All lines have the same learning rates, as in the paper; they
were chosen on seeds 8 and 9, which are not reported, by the line PR-OD alone (`benchmarks.gnr_real_tuning`).
The batch sizes, memory sizes, epochs and generator are those of the paper. The layers up to the last block
of EfficientNet-Lite0 are frozen, and 320 maps of 3 by 3 above it are replayed; the last convolution and the
head are trained. The generator is an ordinary conditional VAE.
"""

from everlearn.papers.experiment import Run, Series, Settings, learner, slug, stream

SEEDS = (0, 1, 2, 3, 4)
NONE, FREE, NAIVE = "none", "free", "naive"
VARIANTS = {
    NONE: {},
    FREE: learner(source="none"),
    "PR-OD": learner(source="real", role="positive"),
    "PR-GD": learner(source="generated", role="positive"),
    "NR-OD": learner(source="real"),
    "NR-GD": learner(source="generated"),
    "NR-RD": learner(source="random"),
    NAIVE: learner(source="none", form="standalone"),
    "naive PR-GD": learner(source="generated", role="positive", form="standalone"),
    "naive NR-GD": learner(source="generated", form="standalone"),
}
"""Settings of the variants; "none" is AR1."""
FASTER = ", 3 x lr"
COMPARED = (NONE, "PR-OD", "PR-GD", "NR-GD", "NR-RD")
"""Variants that are trained with larger learning rates too."""
RATES = {
    "nc": learner(learning_rate=0.01, head_lr=0.003, backbone_lr=1e-4),
    "nic": learner(learning_rate=0.01, head_lr=0.003, backbone_lr=1e-4),
}
"""Learning rates of all lines; those of nic are not chosen yet, but those of nc."""
SHARED: Settings = {
    **stream(image_size=96),
    "epochs": 4,
    "evaluation.forward_transfer": False,
    "evaluation.n_images": 10_000,
    **learner(backbone="efficientnet-lite0", weights="imagenet", always_frozen=True, cached=True),
}
LAYER = "block16"
GENERATOR = learner(replay_layer=LAYER, rectified=False, n_latents=100, class_scale=0.05)
NIC: Settings = {**stream(sessions_per_task=2), "epochs": 20, "evaluation.every_n_tasks": 13}
"""196 tasks of two sessions, each of which fits into one batch: 20 steps per task."""
SIZES: dict[str, tuple[Settings, Settings]] = {
    "nc": (
        {"batch_size": 128},
        {"batch_size": 114, **learner(memory_size=1500, replay_size=14, generator_replay_size=27)},
    ),
    "nic": (
        {"batch_size": 128, **NIC},
        {
            "batch_size": 64,
            **NIC,
            **learner(memory_size=300, replay_size=64, generator_replay_size=64, generator_epochs=20),
        },
    ),
}
"""Sizes without and with replay."""
MINUTES = {"nc": 1.0, "nic": 8.0}


def _row(scenario: str, variant: str, factor: int = 1) -> Series:
    """A variant in a scenario; with a factor, its learning rates after the first task are multiplied."""
    without, with_replay = SIZES[scenario]
    is_ar1, suffix = variant == NONE, FASTER if factor > 1 else ""
    own = {**without, **learner(frozen_layers=LAYER)} if is_ar1 else {**with_replay, **GENERATOR}
    sizes = without if variant in (FREE, NAIVE) else {}
    rates = dict(RATES[scenario])
    rates |= {name: round(factor * rates[name], 6) for name in ("learner.head_lr", "learner.backbone_lr")}
    run = Run(
        {**SHARED, **stream(scenario=scenario), **own, **sizes, **rates},
        SEEDS,
        MINUTES[scenario],
        folder=f"gnr-real/{slug(f'{scenario} {variant}{suffix}')}",
        stream="cifar-50",
    )
    return Series(
        f"real {scenario} {variant}{suffix}",
        "ar1" if is_ar1 else "gnr",
        laptop=run,
        settings=VARIANTS[variant],
        protocols=("replay-quality",) if variant in ("PR-GD", "NR-GD") and not suffix else (),
    )


TABLE = (
    *(_row(scenario, variant) for scenario in RATES for variant in VARIANTS),
    *(_row("nc", variant, 3) for variant in COMPARED),
)
