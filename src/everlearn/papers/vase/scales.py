"""The runs of the paper at three scales.

Series are named by the letters of the paper: S infers environments, D replays generated samples ("dreaming"),
A masks latents. SD-[41] is the paper's name for a teacher and a student (Ramapuram et al.): entangled, and
without a penalty on the decoder.

Smoke uses sprites instead of MNIST and Fashion-MNIST. Most settings of the paper are in an appendix that is
not available; the number of epochs, the learning rate and the evaluation interval of the paper scale are
those of other reproductions, the rest are our defaults.
"""

from functools import partial

from everlearn.papers.experiment import Run, Scale, Series, Settings, learner, stream

NONE: Settings = {}
THREE = (0, 1, 2)
"""Seeds."""
MAIN = ("moving-fashion", "mnist", "moving-mnist")
SEQUENCES = {
    "main": MAIN,
    "five": ("moving-mnist", "fashion", "inverted-fashion", "mnist", "moving-fashion"),
    "pair": ("mnist", "inverted-fashion"),  # the paper has CelebA, which is not available, instead of MNIST
    "recurring": ("moving-fashion", "mnist", "moving-fashion"),
}
SMOKE_SEQUENCES = {
    "main": ("moving-sprites", "sprites", "moving-inverted-sprites"),
    "five": ("moving-sprites", "sprites", "inverted-sprites", "sprites", "moving-inverted-sprites"),
    "pair": ("sprites", "inverted-sprites"),
    "recurring": ("moving-sprites", "inverted-sprites", "moving-sprites"),
}
PROTOCOLS = ("environments", "traversal")
DISENTANGLED = ("disentanglement",)

CODES = ("S", "D", "A", "SA", "DA", "SD", "SDA")
RAMAPURAM = "SD-[41]"
ENTANGLED = ", entangled"
"""Suffix of variants without a penalty for disentanglement."""

EPOCHS, BATCH_SIZE, STAGE = 3, 32, 2.0
"""At laptop scale: epochs per environment, and minutes of a stage on one core with all components."""
PAPER_CAPACITY_STEP = 0.0003
"""The paper has five times as many steps per environment."""
LONG = {"epochs": 4 * EPOCHS, **learner(max_capacity=25.0)}
"""Of more steps: latents for the object, beside those of the position."""
KEPT_BY_REPLAY = learner(encoder_weight=100.0, replay_pixels="sampled", snapshot_every=2500)
"""Replay that keeps what is encoded precisely, of images with as much detail as real ones (decision 10)."""
LARGE_CAPACITY = learner(max_capacity=20.0)
"""Large objects show details that small ones do not have."""


def components(code: str) -> Settings:
    """The settings of VASE behind the letters of a variant.

    Example:
        >>> components("SD")
        {'learner.environment_inference': True, 'learner.generative_replay': True,
         'learner.latent_masking': False}
    """
    switches = {"S": "environment_inference", "D": "generative_replay", "A": "latent_masking"}
    return learner(**{name: letter in code for letter, name in switches.items()})


def _row(
    name: str,
    sequence: str = "main",
    *,
    settings: Settings = NONE,
    smoke: Settings = NONE,
    laptop: Settings = NONE,
    paper: Settings | None = NONE,
    seeds: tuple[int, ...] = (0,),
    paper_seeds: tuple[int, ...] = (0,),
    protocols: tuple[str, ...] = PROTOCOLS,
    stage: float = STAGE,
) -> Series:
    """A variant, named by its letters and what follows them; minutes are those of its stages."""
    code = name.split(",")[0]
    stages, smoke_stages = SEQUENCES[sequence], SMOKE_SEQUENCES[sequence]
    return Series(
        name,
        "cci-vae" if code in ("CCI-VAE", "VAE") else "vase",
        Run({"stream.sequence": smoke_stages, **smoke}),
        Run({"stream.sequence": stages, **laptop}, seeds, stage * len(stages)),
        None if paper is None else Run({"stream.sequence": stages, **paper}, paper_seeds),
        {**(components(code) if code in CODES else {}), **settings},
        protocols,
    )


DESIGN_CHOICES: dict[str, Settings] = {
    "default": {},
    "patience 1": learner(patience=1),
    "no cooldown": learner(cooldown=0),
    "current environment not tested": learner(test_current=False),
    "total error": learner(excess_nll=False),
    "optimizer reset": learner(reset_optimizer=True),
    "fast capacity": learner(capacity_step=0.01, max_capacity=25.0),
}
"""The alternatives to what we chose where the paper gives no details."""


def _choice(name: str) -> Series:
    choice = DESIGN_CHOICES[name]
    return _row(
        f"SDA, {name}",
        settings=choice,
        smoke={"epochs": 2},
        laptop={"epochs": 1},
        paper={"epochs": 10},
        protocols=("environments",),
        stage=STAGE / EPOCHS,
    )


def _long(name: str, settings: Settings = NONE, seeds: tuple[int, ...] = THREE) -> Series:
    """More epochs, and a capacity that grows for as long."""
    return _row(
        name,
        settings=settings,
        smoke={"epochs": 3},
        laptop=LONG,
        paper=None,
        seeds=seeds,
        protocols=(*PROTOCOLS, *DISENTANGLED),
        stage=4 * STAGE,
    )


def _large_objects(name: str) -> Series:
    """Objects of 24 pixels instead of 14 (48 instead of 28), and more capacity."""
    return _row(
        name,
        smoke=LARGE_CAPACITY,
        laptop={**LARGE_CAPACITY, **stream(drawn_size=24)},
        paper={**LARGE_CAPACITY, **stream(drawn_size=48)},
        seeds=THREE,
        paper_seeds=THREE,
    )


MIXED = learner(entangled=True)
CHOICES = tuple(f"SDA, {name}" for name in DESIGN_CHOICES)
_three = partial(_row, seeds=THREE, paper_seeds=THREE)

TABLE = (
    _three("CCI-VAE", protocols=(*PROTOCOLS, *DISENTANGLED)),
    *(_three(code, protocols=("environments", *DISENTANGLED)) for code in CODES[:-1]),
    _three("SDA", protocols=(*PROTOCOLS, *DISENTANGLED)),
    _three("VAE", settings=MIXED, protocols=("environments", *DISENTANGLED)),
    *(_three(code + ENTANGLED, settings=MIXED, protocols=("environments", *DISENTANGLED)) for code in CODES),
    _three(
        RAMAPURAM,
        settings={**MIXED, **components("SD"), **learner(decoder_weight=0.0)},
        protocols=("environments", *DISENTANGLED),
    ),
    _long("CCI-VAE, 12 epochs"),
    _long("SDA, 12 epochs", KEPT_BY_REPLAY),
    _long("SDA, 12 epochs, mean pixels", seeds=(0,)),
    _three("CCI-VAE, five", "five"),
    _three("SDA, five", "five", protocols=(*PROTOCOLS, "cross-domain")),
    _three(f"SDA, five{ENTANGLED}", "five", settings=MIXED, protocols=(*PROTOCOLS, "cross-domain")),
    _three("SDA, pair", "pair", smoke={"stream.images_per_shape": 400}, protocols=(*PROTOCOLS, "ambiguity")),
    _three("SDA, imagined exploration", settings=learner(exploration="imagined"), protocols=()),
    _three("SDA, random exploration", settings=learner(exploration="random"), protocols=()),
    _three("SDA, recurring", "recurring"),
    *map(_large_objects, ("CCI-VAE, large objects", "SDA, large objects")),
    *map(_choice, DESIGN_CHOICES),
)

SCALES = (
    Scale(
        "smoke",
        "For tests: sprites at 16 px, four batches per stage.",
        TABLE,
        folder="smoke/vase",
        stream="environments",
        settings={
            **stream(image_size=16, n_shapes=2, images_per_shape=100, images_per_stage=64),
            "batch_size": 16,
            "evaluation.n_images": 8,
            **learner(size="tiny", n_latents=8),
        },
        protocol_options={
            "environments": ("--n-images", "4"),
            "disentanglement": ("--n-images", "20"),
            "cross-domain": ("--n-images", "16"),
            "ambiguity": ("--n-images", "64"),
        },
    ),
    Scale(
        "laptop",
        "One core: MNIST and Fashion-MNIST at 32 px, small networks.",
        TABLE,
        folder="vase",
        stream="environments",
        settings={
            **stream(image_size=32, images_per_stage=60_000),
            "epochs": EPOCHS,
            "batch_size": BATCH_SIZE,
            "evaluation.n_images": 10_000,
            "evaluation.n_probe_images": 40_000,
            **learner(size="tiny", beta=0.25),
        },
    ),
    Scale(
        "paper",
        "The size of the paper: 64 px, its networks, 30 epochs per stage; needs a GPU.",
        TABLE,
        folder="paper/vase",
        stream="environments",
        settings={
            "device": "cuda",
            **stream(image_size=64, images_per_stage=60_000),
            "epochs": 30,
            "evaluation.every_n_batches": 2500,
            "evaluation.n_images": 10_000,
            "evaluation.n_probe_images": 40_000,
            **learner(size="paper", learning_rate=6e-4, capacity_step=PAPER_CAPACITY_STEP, gamma=100.0),
        },
    ),
)
