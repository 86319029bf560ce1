"""The runs with real images and networks pretrained on ImageNet.

The images are fifty classes of CIFAR-100 in the tasks of CORe50. Activations are replayed at one of three
layers. "conv5_4" is the layer of the paper in its network, MobileNet v1, with a quarter of the channels; the
three blocks above it are trained. "pooled" is the last layer of the same network, so that only the head is
trained. "last block" is that of EfficientNet-Lite0, with one convolution above it. Below the layer the
network is frozen.

At "conv5_4" batch normalization becomes batch renormalization, as in the paper; "frozen statistics" is the
same layer without that.

All series of a layer and a scenario have the same learning rates. With MobileNet they are those of the
paper, except in the first task of NC. That rate, and those of EfficientNet, were chosen by the series PR-OD
alone, on seeds that are not reported (`benchmarks.gnr_tuning`). Batches in NC are a quarter of the paper's,
for more steps, except with "pooled"; at the last block there are also four times as many epochs, so that a
task has as many steps as in the paper. Other sizes, the memory, epochs or steps per task and the generator,
an ordinary conditional VAE, are the paper's.
"""

from dataclasses import dataclass, replace

from everlearn.papers.experiment import Run, Series, Settings, learner, slug, stream

SEEDS = (0, 1, 2)
FIVE_SEEDS = (0, 1, 2, 3, 4)
ONE_SEED = (0,)
"""Seeds of runs that vary a setting."""
NONE, FREE, NAIVE = "none", "free", "naive"
VARIANTS: dict[str, Settings] = {
    NONE: {},
    FREE: learner(source="none"),
    "PR-OD": learner(source="real", role="positive"),
    "PR-GD": learner(source="generated", role="positive"),
    "NR-OD": learner(source="real", role="negative"),
    "NR-GD": learner(source="generated", role="negative"),
    "NR-RD": learner(source="random", role="negative"),
    NAIVE: learner(source="none", form="standalone"),
    "naive PR-OD": learner(source="real", role="positive", form="standalone"),
    "naive PR-GD": learner(source="generated", role="positive", form="standalone"),
    "naive NR-GD": learner(source="generated", role="negative", form="standalone"),
}
"""Settings of the variants; "none" is AR1, "free" has no penalty, "naive" has no consolidated weights."""
COMPARED = (NONE, "PR-OD", "PR-GD", "NR-OD", "NR-GD", "NR-RD")
"""The variants of the paper's figures 9 and 11."""


@dataclass(frozen=True)
class Layer:
    """The layer at which activations are replayed; the network below it is frozen."""

    name: str
    backbone: str
    layer: str
    rectified: bool  # its activations are not negative
    folder: str = ""  # start of the names of its records
    norm: str = "own"  # normalization of the network


CONV = Layer("conv5_4", "mobilenet-v1-0.25", "conv5_4", rectified=True, folder="conv5-4-", norm="renorm")
FROZEN = Layer("frozen statistics", "mobilenet-v1-0.25", "conv5_4", rectified=True, folder="frozen-norm-")
"""The layer of the paper, but with batch normalization by the pretrained statistics, which stay the same."""
LAST_BLOCK = Layer("last block", "efficientnet-lite0", "block16", rectified=False, folder="last-block-")
POOLED = Layer("pooled", "mobilenet-v1-0.25", "mean", rectified=True, folder="pooled-")
OTHER_LAYERS = (LAST_BLOCK, POOLED)

RATES: dict[tuple[str, str], Settings] = {
    ("conv5_4", "nc"): learner(learning_rate=0.0003, head_lr=5e-4, backbone_lr=5e-5),
    ("conv5_4", "nic"): learner(learning_rate=0.001, head_lr=0.001, backbone_lr=1e-4),
    ("frozen statistics", "nic"): learner(learning_rate=0.001, head_lr=0.001, backbone_lr=1e-4),
    ("last block", "nc"): learner(learning_rate=0.01, head_lr=0.003, backbone_lr=1e-4),
    ("pooled", "nc"): learner(learning_rate=0.0003, head_lr=5e-4, backbone_lr=5e-5),
}
"""Learning rates in the first task, and of the head and of the layers above the replayed one after it."""
SHARED: Settings = {
    **stream(image_size=96),
    "epochs": 4,
    "evaluation.forward_transfer": False,
    "evaluation.n_images": 10_000,
    **learner(weights="imagenet", always_frozen=True, cached=True),
}
NIC: Settings = {**stream(n_sessions=2), "epochs": 10, "evaluation.every_n_tasks": 13}
"""91 tasks: 80 images of one class each, which are two batches with replay; 10 epochs are 20 steps."""
SMALL_BATCHES = learner(memory_size=1500, replay_size=4, generator_batch_size=32, generator_replay_size=7)
"""A quarter of the paper's batches of 114 and 14, so that a task has four times as many steps."""
SIZES: dict[str, tuple[Settings, Settings]] = {
    "nc": ({"batch_size": 32}, {"batch_size": 28, **SMALL_BATCHES}),
    "nic": (
        {"batch_size": 128, **NIC},
        {
            "batch_size": 64,
            **NIC,
            **learner(memory_size=300, replay_size=64, generator_replay_size=64, generator_epochs=10),
        },
    ),
}
"""Sizes without and with replay."""
LARGE_BATCHES: tuple[Settings, Settings] = (
    {"batch_size": 128},
    {"batch_size": 114, **learner(memory_size=1500, replay_size=14, generator_replay_size=27)},
)
"""Sizes of the paper in NC, without and with replay."""
MANY_STEPS: tuple[Settings, Settings] = (
    {"batch_size": 32, "epochs": 16},
    {"batch_size": 28, "epochs": 16, **SMALL_BATCHES, **learner(generator_epochs=16)},
)
"""464 steps per task; the paper has 420."""
OTHER_SIZES = {("pooled", "nc"): LARGE_BATCHES, ("last block", "nc"): MANY_STEPS}
"""Sizes of layers that differ from those of the scenario."""
MINUTES = {"nc": 0.5, "nic": 2.0}


def real_run(
    layer: Layer, scenario: str, variant: str, changes: Settings | None = None, suffix: str = ""
) -> Run:
    """A variant at a layer; with some other settings its records have a suffix."""
    is_ar1 = learner_of(layer, variant) == "ar1"
    without, with_replay = OTHER_SIZES.get((layer.name, scenario), SIZES[scenario])
    own = learner(frozen_layers=layer.layer)
    if not is_ar1:
        generator = learner(rectified=layer.rectified, n_latents=100, class_scale=0.05)
        own = {**learner(replay_layer=layer.layer), **generator, **with_replay}
    sizes = without if variant in (NONE, FREE, NAIVE) else {}
    if (scenario, variant) == ("nic", "NR-RD"):
        batch_size = 64 if layer == FROZEN else 107  # the paper's is 107
        sizes = {"batch_size": batch_size, **learner(replay_size=21)}
    rates = RATES[layer.name, scenario]
    backbone = learner(backbone=layer.backbone, norm=layer.norm)
    shared = {**SHARED, **stream(scenario=scenario), **backbone}
    return Run(
        {**shared, **own, **sizes, **rates, **variant_settings(layer, variant), **(changes or {})},
        SEEDS,
        MINUTES[scenario],
        folder=f"gnr-real/{layer.folder}{slug(f'{scenario} {variant} {suffix}')}",
        stream="cifar-50",
        learner="ar1" if is_ar1 else "gnr",
    )


def learner_of(layer: Layer, variant: str) -> str:
    """The learner of a variant; AR1 is the same as "free" if no layer is trained that it could penalise."""
    return "ar1" if variant == NONE and layer != POOLED else "gnr"


def variant_settings(layer: Layer, variant: str) -> Settings:
    """The settings of GNR that make up a variant at a layer."""
    return VARIANTS[FREE] if (layer, variant) == (POOLED, NONE) else VARIANTS[variant]


def _row(layer: Layer, scenario: str, variant: str, seeds: tuple[int, ...] = SEEDS) -> Series:
    """A variant at a layer that is not the paper's, or with another normalization."""
    run = replace(real_run(layer, scenario, variant), seeds=seeds)
    return Series(f"{layer.name} {scenario} {variant}", run.learner, laptop=run)


def _variation(scenario: str, variant: str, name: str, changes: Settings) -> Series:
    """A variant at the paper's layer with another value of one setting, one seed."""
    run = replace(real_run(CONV, scenario, variant, changes, name), seeds=ONE_SEED)
    return Series(f"{scenario} {variant}, {name}", run.learner, laptop=run, protocols=quality(variant))


def quality(variant: str) -> tuple[str, ...]:
    """The protocols of a variant."""
    return ("replay-quality",) if variant in ("PR-GD", "NR-GD") else ()


def rates_times(factor: float) -> Settings:
    """The learning rates after the first task, multiplied."""
    names = ("learner.head_lr", "learner.backbone_lr")
    return {name: float(f"{factor * RATES['conv5_4', 'nc'][name]:.4g}") for name in names}


FACTORS = {"lr / 3": 1 / 3, "3 x lr": 3.0}
"""Factors of the learning rates after the first task."""
GENERATOR_EPOCHS = (1, 16)
"""Epochs of the generator per task, besides the paper's 4."""
VARIED = ("PR-GD", "NR-GD")
TABLE = (
    *(_row(LAST_BLOCK, "nc", variant, FIVE_SEEDS) for variant in (FREE, *COMPARED)),
    *(_row(POOLED, "nc", variant) for variant in COMPARED),
    *(_row(FROZEN, "nic", variant, ONE_SEED) for variant in COMPARED),
    *(
        _variation("nc", variant, f"generator {n} epochs", learner(generator_epochs=n))
        for n in GENERATOR_EPOCHS
        for variant in VARIED
    ),
    *(
        _variation("nc", variant, name, rates_times(factor))
        for name, factor in FACTORS.items()
        for variant in (FREE, *COMPARED)
    ),
)
